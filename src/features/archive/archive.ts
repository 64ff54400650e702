/**
 * The archive of a finished run, for agents that ask for one. It is stored after the parent and the webhook were
 * notified, and before the row records that (`endNotified`). That record starts the retention, after which nothing else of the
 * run is left.
 *
 * Schedule 50: the row records the delivery of the end, and the process dies before it has stored the archive. No
 * process reads the run again. Its retention expires, and the data that its agent wanted to keep for years is lost.
 *
 * The archive contains committed data only, so any process can build it again. The history is read backwards and packed
 * piece by piece, so an archive takes no more memory than loading the run.
 */
import { type ArchivedRun, type ArchiveCounts, callLine, endLine, headLine, messageLine } from "../../codec/archive.ts";
import { packed } from "../../codec/archive-bytes.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import { ensure } from "../../core/ensure.ts";
import { SIZES } from "../../codec/limits.ts";
import type { ArchiveTier } from "../../core/policy/retention.ts";
import type { State } from "../../core/state.ts";
import { type Incarnation, type Row, hasEnded } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousPut } from "../../history/resolve-ambiguous-write.ts";
import { archiveKey } from "../../history/object-keys.ts";
import type { Loaded, Source } from "../../history/load.ts";
import { PackedHistory, blobLines, fileLines } from "./packed-history.ts";
import { commitsOf, readHistory } from "../../history/reader.ts";

type OfRun = Pick<Loaded, "row" | "state">;

/** Tier and key of the archive of a run; null if its agent asks for none. */
export function archiveOf(
  incarnation: Incarnation,
  { retention, redriven }: Pick<State, "retention" | "redriven">,
): { readonly tier: ArchiveTier; readonly key: string } | null {
  const tier = retention?.archive ?? null;
  return tier === null ? null : { tier, key: archiveKey(incarnation, tier, 1 + (redriven?.times ?? 0)) };
}

/** Stores the archive. Throws `Unreadable` if a part of the history cannot be read; then nothing is stored. */
export async function putArchive({ objects }: Pick<World, "objects">, { row, state }: OfRun): Promise<void> {
  const archive = archiveOf(row, state);
  if (archive === null) return;
  const bytes = await archived({ objects, row }, state);
  // An existing archive was built from the same history.
  await resolveAmbiguousPut(() => objects.put(archive.key, bytes));
}

async function archived(from: Source, state: State): Promise<Uint8Array> {
  const { row } = from;
  const history = new PackedHistory();
  for await (const piece of readHistory(from, { through: "commits", after: 0 })) {
    if (piece.kind === "damaged") throw piece.error;
    history.add(commitsOf(piece));
  }
  const { calls, commits } = history;
  const wanted = history.blobs(state);
  const leftOut = wanted.slice(SIZES.archiveBlobsMax);
  const blobs: Uint8Array[] = [];
  const fitting = { wanted: wanted.slice(0, SIZES.archiveBlobsMax), bytesMax: SIZES.archiveBlobBytesMax };
  for await (const { sha256, line } of blobLines(from, fitting)) {
    if (line === null) leftOut.push(sha256);
    else blobs.push(...packed([line]));
  }
  const files = history.files(state);
  const filesOut: string[] = [];
  for await (const { file, line } of fileLines(from, { wanted: files, bytesMax: SIZES.archiveFilesBytesMax })) {
    if (line === null) filesOut.push(file);
    else blobs.push(...packed([line]));
  }
  const counts: ArchiveCounts = {
    messages: state.messages.length,
    commits,
    calls: calls.length,
    blobs: wanted.length - leftOut.length,
    ...(files.length > 0 && { files: files.length - filesOut.length }),
  };
  return Buffer.concat([
    ...packed(linesBefore(row, state)),
    ...history.members,
    ...packed(calls.map(callLine)),
    ...blobs,
    ...packed([endLine(counts, leftOutOf(leftOut, filesOut))]),
  ]);
}

const leftOutOf = (blobs: readonly string[], files: readonly string[]) => ({
  blobs: blobs.toSorted(),
  ...(files.length > 0 && { files: files.toSorted() }),
});

function* linesBefore(row: Row, state: State): Generator<string> {
  yield headLine(archivedRun(row, state));
  for (const message of state.messages) yield messageLine(message);
}

function archivedRun(row: Row, state: State): ArchivedRun {
  ensure(hasEnded(row), "a live run is archived");
  ensure(state.retention !== undefined, "a run is archived that did not ask for it");
  return factsOf(row, state);
}

/** The facts about a run in its row and state. */
export function factsOf(row: Row, state: State): ArchivedRun {
  const { run, born, parent, tenant, createdAt, takeovers, version, epoch, statusSince } = row;
  // A redrive that no invocation has recorded yet is not in the events.
  const status = row.redrive === undefined ? row.status : statusOf(state);
  const { agent, agentVersion, task, result, failure, restart, startedAt, spent, retention = null } = state;
  const endedAt = hasEnded(row) ? statusSince : null;
  return {
    run,
    born,
    parent,
    tenant,
    agent,
    agentVersion,
    createdAt,
    startedAt,
    endedAt,
    status,
    task,
    result,
    failure,
    attempt: restart,
    takeovers,
    version,
    epoch,
    spent,
    retention,
    ...(state.startedBy === undefined ? {} : { startedBy: state.startedBy }),
  };
}
