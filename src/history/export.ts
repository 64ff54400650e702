/**
 * A run as one file that needs no store: its facts, its transcript, every commit with a mark of each snapshot, its ledger
 * and its large values. An archive with more in it (`codec/archive.ts`), of a live run too: of its last commit then.
 *
 * History is read from the newest snapshot back and told from the first one on, so it is held in between, packed. Everything
 * else is told as it comes.
 */
import { type ArchiveCounts, type ArchivedRun, begunLine, blobLine, callLine } from "../codec/archive.ts";
import { commitLine, endLine, headLine, markLine, messageLine } from "../codec/archive.ts";
import { RunningDigest, chunked, packed, unpacked } from "../codec/archive-bytes.ts";
import { Unreadable } from "../codec/canonical.ts";
import { blobText, blobsIn } from "../codec/value.ts";
import type { CommitRecord, Event } from "../core/event.ts";
import type { State } from "../core/state.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { factsOf } from "./archive.ts";
import { CallLedger, entryOf } from "./call-ledger.ts";
import { SegmentCache, type Source, readBlob } from "./load.ts";
import { loadVouched, signIn } from "./vouch.ts";
import { type OnStep, stopsBack } from "./recording.ts";

export interface Exported {
  readonly run: ArchivedRun;
  readonly counts: Required<ArchiveCounts>;
  /** Digests of large values that are not in it. */
  readonly leftOut: readonly string[];
  /** Of its lines but the last one, which says it. */
  readonly digest: string;
  /** The key that vouches for this file; null: it has no keyed seal. */
  readonly sealedBy: string | null;
}

export interface ExportOptions {
  readonly run: string;
  /** Whole lines, some at a time. */
  readonly write: (chunk: string) => void | Promise<void>;
  readonly onStep?: OnStep;
  /** How many bytes of large values it may hold. */
  readonly blobBytesMax?: number;
}

/** With them a file stays smaller than what a reader takes (`codec/archive-bytes.ts`). */
const BLOB_BYTES_MAX = 1024 ** 3;

/** Null when there is no such run. Throws `Unreadable` where a part of it cannot be read; what was written is no export. */
export async function exportRun(world: World, of: ExportOptions): Promise<Exported | null> {
  const row = await world.table.read(of.run, world.clock.now());
  if (row === null) return null;
  try {
    return await write(world, row, of);
  } catch (error) {
    // A run whose time came meanwhile is cleaned up, not damaged.
    const isGone =
      error instanceof Unreadable && (await world.table.read(row.run, world.clock.now()))?.born !== row.born;
    if (isGone) return null;
    throw error;
  }
}

async function write(world: World, row: Row, of: ExportOptions): Promise<Exported> {
  const { objects } = world;
  const from: Source = { objects, row };
  const { state, journal } = await loadVouched(world, row, new SegmentCache());
  const history = await readHistory(from, { journal, onStep: of.onStep });
  const run: ArchivedRun = { ...factsOf(row, state), phase: row.phase };
  const lines = new RunningDigest();
  const tell = async (chunks: Iterable<string>): Promise<void> => {
    for (const chunk of chunks) {
      lines.add(chunk);
      await of.write(chunk);
    }
  };
  await tell(chunked(opening(run, state, history.begun)));
  for (const stretch of history.stretches) await tell(stretch.map(unpacked));
  await tell(chunked(history.calls.map(callLine)));
  const wanted = new Set([state.task, state.result, state.messages].flatMap(blobsIn).concat(history.blobs));
  const leftOut: string[] = [];
  let bytesLeft = of.blobBytesMax ?? BLOB_BYTES_MAX;
  for (const sha256 of wanted) {
    const text = bytesLeft < 0 ? "" : blobText(sha256, await readBlob(objects, row, sha256));
    bytesLeft -= Buffer.byteLength(text, "utf8");
    if (bytesLeft < 0) leftOut.push(sha256);
    else await tell([`${blobLine(sha256, text)}\n`]);
  }
  const counts = {
    ...{ messages: state.messages.length, commits: history.commits, calls: history.calls.length },
    ...{ blobs: wanted.size - leftOut.length, marks: history.marks },
  };
  const digest = lines.end();
  const sign = await signIn(world);
  const voucher = sign?.("export", digest) ?? null;
  await of.write(`${endLine(counts, { blobs: leftOut }, { digest, voucher })}\n`);
  return { run, counts, leftOut, digest, sealedBy: voucher?.key ?? null };
}

function* opening(run: ArchivedRun, state: State, begun: State): Generator<string> {
  yield headLine(run);
  for (const message of state.messages) yield messageLine(message);
  yield begunLine(begun);
}

interface History {
  readonly begun: State;
  /** From the first commit to the last one, each packed. */
  readonly stretches: readonly (readonly Uint8Array[])[];
  readonly calls: CallLedger["entries"];
  readonly blobs: readonly string[];
  readonly commits: number;
  readonly marks: number;
}

async function readHistory(
  from: Source,
  of: { readonly journal: readonly CommitRecord[]; readonly onStep: OnStep | undefined },
): Promise<History> {
  const { journal, onStep } = of;
  const stretches = [packed(journal.map(commitLine))];
  const ofLedger: (readonly Event[])[] = [entriesOf(journal)];
  const blobs = [blobsIn(journal)];
  let begun: State | null = null;
  let [commits, marks] = [journal.length, 0];
  for await (const stop of stopsBack(from, onStep)) {
    stretches.push(packed([...stop.commits.map(commitLine), markLine(stop.mark)]));
    ofLedger.push(entriesOf(stop.commits));
    blobs.push(blobsIn(stop.commits));
    commits += stop.commits.length;
    marks += 1;
    begun = stop.state;
  }
  if (begun === null) throw new Unreadable(`run ${from.row.run} has no snapshot`);
  const calls = new CallLedger();
  for (const event of ofLedger.toReversed().flat()) calls.add(event);
  const inOrder = { stretches: stretches.toReversed(), blobs: blobs.toReversed().flat() };
  return { begun, ...inOrder, calls: calls.entries, commits, marks };
}

const entriesOf = (commits: readonly CommitRecord[]): readonly Event[] =>
  commits.flatMap(({ events }) => events.map(entryOf).filter((event) => event !== null));
