/** Of a run whose end is told there is the archive that its agent asked for, and it holds the whole history. */
import { readArchive } from "../../src/codec/archive.ts";
import { canonical } from "../../src/codec/canonical.ts";
import { archiveOf } from "../../src/features/archive/archive.ts";
import type { History } from "./history.ts";
import { finalRow, replay } from "./replay.ts";

export function wrongWithArchive(history: History): readonly string[] {
  const { commits, state } = replay(history);
  const row = finalRow(history);
  const archived = [...history.world.store.objects].filter(([key]) => key.startsWith("archive/"));
  const wanted = row.endNotified ? archiveOf(row, state) : null;
  if (wanted === null) return state.retention === undefined ? archived.map(([key]) => `nobody asked for ${key}`) : [];
  // Of a redriven run the archives of its earlier ends stay.
  const ends = 1 + (state.redriven?.times ?? 0);
  const found = archived.find(([key]) => key === wanted.key);
  if (found === undefined || archived.length > ends) return [`it is told, and ${archived.length} objects are archived`];
  const archive = readArchive(found[1]);
  const said = [archive.run.status, archive.run.result, archive.run.failure, archive.run.spent];
  const is = [row.status, state.result, state.failure, state.spent];
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["end", said, is],
    ["transcript", archive.messages, state.messages],
    ["history", archive.commits, commits],
  ];
  return pairs.flatMap(([what, one, other]) =>
    canonical(one) === canonical(other) ? [] : [`the archive has another ${what}`],
  );
}
