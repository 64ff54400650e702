/** Releases that leave a journal: what a process keeps of it, and what a reader finds when it changes meanwhile. */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { expect, test } from "vitest";
import { sqliteRunTable } from "../../src/adapters/local/store/run-table.ts";
import { appendToJournal, decodeJournal } from "../../src/codec/journal.ts";
import { verify } from "../../src/features/seals/verify.ts";
import { transcript } from "../../src/operations/views.ts";
import { FEW_BYTES } from "../../src/ports/stored-sizes.ts";
import { NOW, RUN, claim, commit, creation, open, temporaryStore } from "../process/fixtures/store.ts";
import { beginRun, drive } from "../support/harness/drive.ts";
import { runBeats } from "../support/runs/long-runs.ts";
import { twoProcesses } from "../support/runs/two-processes.ts";
import { COMMIT } from "../../src/protocol/row-commit.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

test("schedule 170: another process adds beats to the journal in between; the first one folds the journal that it finds", async () => {
  const { harness, agent, gets, one, other } = twoProcesses(5, FEW_BYTES);
  const begun = await beginRun(harness.world, agent, {});
  const first = await runBeats(one, begun, 2);
  gets.length = 0;
  const second = await runBeats(one, first, 1);
  const third = await runBeats(other, second, 1);
  const { snapshot, version } = harness.row(begun.run);
  expect({ snapshotVersion: snapshot.version, version }).toEqual({ snapshotVersion: 0, version: 8 });
  await drive(one, third);
  expect(gets).toEqual([]);
  const told = await transcript(harness.world, begun.run);
  expect(told?.filter(({ role }) => role === "assistant")).toHaveLength(6);
  // Six beats, and no other: the one of the other process is not done again.
  expect(harness.row(begun.run)).toMatchObject({ status: "completed", journal: null, version: 11, epoch: 6 });
  expect(await verify(harness.world, { run: begun.run })).toMatchObject({ findings: [] });
});

test("schedule 171: a snapshot replaces the journal while its row is read, and other parts take the place of its parts", async () => {
  const store = temporaryStore();
  const writer = sqliteRunTable(store);
  const journalOf = (...epochs: readonly number[]): Uint8Array =>
    epochs.reduce<Uint8Array>(
      (journal, epoch) => appendToJournal(journal, [{ version: 1, epoch, events: [] }]),
      appendToJournal(null, []),
    );
  await writer.create(creation());
  const claimed = await writer.decide(claim(), CLAIM);
  if (claimed.kind !== "granted") throw new Error(`not claimed: ${claimed.kind}`);
  const written: Promise<unknown>[] = [];
  // The store performs a commit before it returns its promise.
  const write = (journal: Uint8Array | null): void => {
    const version = claimed.row.version + written.length;
    written.push(writer.decide(commit({ ...claimed.row, version }, { journal, release: false }), COMMIT));
  };
  write(journalOf(1, 2));
  let reads = 0;
  const { rows } = open(store.dir);
  const reader = sqliteRunTable({
    ...open(store.dir),
    rows: afterReadsOf(rows, "FROM runs WHERE run = ?", () => {
      reads += 1;
      if (reads !== 2) return;
      write(null);
      write(journalOf(3, 4));
    }),
  });
  // The first read shows that this process does not know the row, and the second one is of one moment with the parts.
  const seen = [await reader.read(RUN, NOW), await reader.read(RUN, NOW)];
  expect(await Promise.all(written)).toMatchObject(
    [1, 2, 3].map((version) => ({ kind: "committed", row: { version } })),
  );
  expect(seen.map((found) => ({ version: found?.version, journal: decodeJournal(found?.journal ?? null) }))).toEqual([
    { version: 1, journal: decodeJournal(journalOf(1, 2)) },
    { version: 3, journal: decodeJournal(journalOf(3, 4)) },
  ]);
});

/** The database, with something that happens right after each read by a statement whose text contains that. */
function afterReadsOf(rows: DatabaseSync, text: string, happens: () => void): DatabaseSync {
  const prepare = rows.prepare.bind(rows);
  return Object.assign(rows, {
    prepare: (sql: string): StatementSync => {
      const statement = prepare(sql);
      if (!sql.includes(text)) return statement;
      const get = statement.get.bind(statement);
      return Object.assign(statement, {
        get: (...values: SQLInputValue[]) => {
          const found = get(...values);
          happens();
          return found;
        },
      });
    },
  });
}
