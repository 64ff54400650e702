/**
 * Exports a run as one file that needs no store: facts, transcript, every commit, a mark per snapshot, the ledger and
 * large values. It is an archive with additional lines (`codec/archive.ts`). A live run is exported as of its last
 * commit.
 *
 * The history is held packed until all of it is read (`packed-history.ts`). Everything else is written immediately.
 */
import {
  type ArchiveCounts,
  type ArchivedRun,
  type LedgerEntry,
  callLine,
  endLine,
  headLine,
  messageLine,
} from "../../codec/archive.ts";
import { begunLine } from "../../codec/archive-lines.ts";
import { RunningDigest, chunked, unpacked } from "../../codec/archive-bytes.ts";
import { Unreadable } from "../../codec/canonical.ts";
import type { State } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { World } from "../../ports/world.ts";
import { factsOf } from "./archive.ts";
import { unlessGone } from "../../history/damage.ts";
import { SegmentCache, type Source } from "../../history/load.ts";
import { PackedHistory, blobLines, fileLines } from "./packed-history.ts";
import type { OnStep } from "../../history/reader.ts";
import { recordedBack } from "./recording.ts";
import { inTurns } from "../../history/stepwise.ts";
import { loadVouched, signIn } from "../../history/vouch.ts";

/** What an export contains. */
export interface Exported {
  readonly run: ArchivedRun;
  readonly counts: Required<ArchiveCounts>;
  /** Digests of large values that were left out. */
  readonly leftOut: readonly string[];
  /** The digest of all lines but the last one, which contains this digest. */
  readonly digest: string;
  /** The key of the file's keyed seal; null if it has none. */
  readonly sealedBy: string | null;
}

export interface ExportOptions {
  readonly run: string;
  /** Receives whole lines, several at a time. */
  readonly write: (chunk: string) => void | Promise<void>;
  readonly onStep?: OnStep;
  /** The maximum number of bytes of large values. */
  readonly blobBytesMax?: number;
}

/** This bound keeps a file within what a reader accepts (`codec/archive-bytes.ts`). */
const BLOB_BYTES_MAX = 1024 ** 3;

/** Null if there is no such run. Throws `Unreadable` if a part cannot be read; the lines so far are then no export. */
export async function exportRun(world: World, options: ExportOptions): Promise<Exported | null> {
  const row = await world.table.read(options.run, world.clock.now());
  if (row === null) return null;
  return unlessGone(world, row, () => write(world, row, options));
}

async function write(world: World, row: Row, options: ExportOptions): Promise<Exported> {
  const from: Source = { objects: world.objects, row };
  const turn = world.reading?.turn;
  const { state } = await loadVouched(world, row, new SegmentCache());
  const history = new PackedHistory();
  let begun: State | null = null;
  let marks = 0;
  for await (const { commits, stop } of recordedBack(from, options.onStep)) {
    history.add(commits, stop?.mark);
    if (stop === null) continue;
    begun = stop.state;
    marks += 1;
  }
  if (begun === null) throw new Unreadable(`run ${row.run} has no snapshot`);
  const run: ArchivedRun = { ...factsOf(row, state), phase: row.phase };
  const lines = new RunningDigest();
  const tell = async (chunks: Iterable<string>): Promise<void> => {
    for (const chunk of chunks) {
      await turn?.();
      lines.add(chunk);
      await options.write(chunk);
    }
  };
  await tell(chunked(opening(run, state, begun), CHUNK_CHARACTERS));
  for (const member of history.members) await tell([unpacked(member)]);
  const calls = await inTurns(history.callSteps(), turn);
  await tell(chunked(linesOf(calls), CHUNK_CHARACTERS));
  const wanted = history.blobs(state);
  const leftOut: string[] = [];
  const bytesMax = options.blobBytesMax ?? BLOB_BYTES_MAX;
  for await (const { sha256, line } of blobLines(from, { wanted, bytesMax })) {
    if (line === null) leftOut.push(sha256);
    else await tell([`${line}\n`]);
  }
  const files = history.files(state);
  for await (const { line } of fileLines(from, { wanted: files, bytesMax: Infinity })) await tell([`${line}\n`]);
  const counts = {
    messages: state.messages.length,
    commits: history.commits,
    calls: calls.length,
    blobs: wanted.length - leftOut.length,
    marks,
    files: files.length,
  };
  const digest = lines.end();
  const sign = await signIn(world);
  const voucher = sign?.("export", digest) ?? null;
  await options.write(`${endLine(counts, { blobs: leftOut }, { digest, voucher })}\n`);
  return { run, counts, leftOut, digest, sealedBy: voucher?.key ?? null };
}

/** What one turn of a server writes of the transcript and the ledger. */
const CHUNK_CHARACTERS = 256 * 1024;

function* linesOf(calls: readonly LedgerEntry[]): Generator<string> {
  for (const call of calls) yield callLine(call);
}

function* opening(run: ArchivedRun, state: State, begun: State): Generator<string> {
  yield headLine(run);
  for (const message of state.messages) yield messageLine(message);
  yield begunLine(begun);
}
