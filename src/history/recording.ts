/**
 * A run as it was recorded: the state that it began with, every commit, and what each of its snapshots came to. It is read
 * back from a store, or taken out of an exported file, and is all that a replay needs: no model, no tool and no agent.
 */
import type { ArchivedRun, Archive, Begun } from "../codec/archive.ts";
import { Unreadable, canonical, digestOf } from "../codec/canonical.ts";
import { type StateMark, markOf } from "../codec/mark.ts";
import { wholeState } from "../codec/snapshot.ts";
import type { Segment } from "../codec/transcript.ts";
import { blobsIn } from "../codec/value.ts";
import type { CommitRecord } from "../core/event.ts";
import type { Json } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import type { SnapshotPointer } from "../protocol/row.ts";
import type { State } from "../core/state.ts";
import type { World } from "../ports/world.ts";
import { factsOf } from "./archive.ts";
import { CallLedger } from "./call-ledger.ts";
import { SegmentCache, type Source, jsonOf, readSegment, readSnapshot } from "./load.ts";
import { loadVouched } from "./vouch.ts";

export interface Recording {
  /** What row or file says of the run. */
  readonly run: ArchivedRun;
  readonly begun: Begun;
  readonly commits: readonly CommitRecord[];
  /** The JSON of a value that a state holds; null where the recording left it out. */
  readonly json: (value: Value) => Promise<Json>;
}

/** A part of what was recorded is missing or has other content: the newest one that has. */
export class RecordingDamaged extends Unreadable {
  readonly version: number;
  constructor(version: number, cause: Unreadable) {
    super(cause.message, cause.code);
    this.version = version;
  }
}

/** After each snapshot: how many versions are still to be read, and how many there are. */
export type OnStep = (left: number, all: number) => void | Promise<void>;

/** Null when there is no such run. Throws `RecordingDamaged`. */
export async function recordingIn(
  world: World,
  of: { readonly run: string; readonly onStep?: OnStep },
): Promise<Recording | null> {
  const row = await world.table.read(of.run, world.clock.now());
  if (row === null) return null;
  const from = { objects: world.objects, row };
  try {
    const { state, journal } = await ofVersion(row.version, () => loadVouched(world, row, new SegmentCache()));
    const stretches = [journal];
    const marks: StateMark[] = [];
    let begun = state;
    for await (const stop of stopsBack(from, of.onStep)) {
      stretches.push(stop.commits);
      marks.push(stop.mark);
      begun = stop.state;
    }
    return {
      run: { ...factsOf(row, state), phase: row.phase },
      begun: { state: begun, marks: marks.toReversed() },
      commits: stretches.toReversed().flat(),
      json: (value) => jsonOf(world.objects, row, value),
    };
  } catch (error) {
    // A run whose time came meanwhile is cleaned up, not damaged.
    const isGone =
      error instanceof Unreadable && (await world.table.read(row.run, world.clock.now()))?.born !== row.born;
    if (isGone) return null;
    throw error;
  }
}

/** Throws `Unreadable` for an archive that was put at the end of its run: it does not say what that began with. */
export function recordingOf({ run, begun, commits, blobs }: Archive): Recording {
  if (begun === undefined) {
    throw new Unreadable(
      `this is the archive of run ${run.run}, which holds what happened and not the states: only an exported run can be replayed`,
      "NotExported",
    );
  }
  const json = async (value: Value): Promise<Json> =>
    value.kind === "inline" ? value.json : (blobs.get(value.sha256) ?? null);
  return { run, begun, commits, json };
}

/**
 * Whether an exported file, whose commits came to that state, holds the transcript, the ledger and the large values that
 * belong to them; or what is wrong with it.
 */
export function wrongWithFile(archive: Archive, state: State): string | null {
  const { messages, commits, calls, blobs, leftOut } = archive;
  const strange = state.messages.findIndex((each, index) => !isSame(each, messages[index]));
  if (strange >= 0 || messages.length !== state.messages.length) {
    const at = strange < 0 ? state.messages.length : strange;
    return `message ${at + 1} of its transcript is not what its events make of it`;
  }
  const ledger = new CallLedger();
  for (const { events } of commits) for (const event of events) ledger.add(event);
  if (!isSame(calls, ledger.entries)) return "its ledger is not what its events make of it";
  const forged = [...blobs].find(([digest, json]) => digestOf(json) !== digest);
  if (forged !== undefined) return `blob ${forged[0]} has other content than its name says`;
  const missing = blobsIn([commits, state]).find((digest) => !blobs.has(digest) && !leftOut.blobs.includes(digest));
  return missing === undefined ? null : `blob ${missing} is missing`;
}

const isSame = (one: unknown, other: unknown): boolean => other !== undefined && canonical(one) === canonical(other);

/** What one snapshot adds to the history, and the state that it holds. */
export interface Stop {
  readonly commits: readonly CommitRecord[];
  readonly state: State;
  readonly mark: StateMark;
}

/** From the newest snapshot back to the one that the run began with, one at a time. Throws `RecordingDamaged`. */
export async function* stopsBack(from: Source, onStep: OnStep = () => undefined): AsyncGenerator<Stop> {
  const cache = new SegmentCache();
  let pointer: SnapshotPointer | null = from.row.snapshot;
  while (pointer !== null) {
    const read: Read = await readStop({ ...from, cache }, pointer);
    yield read.stop;
    await onStep(pointer.version, from.row.version);
    pointer = read.previous;
  }
}

interface Read {
  readonly stop: Stop;
  readonly previous: SnapshotPointer | null;
}

type From = Source & { readonly cache: SegmentCache };

const readStop = (from: From, pointer: SnapshotPointer): Promise<Read> =>
  ofVersion(pointer.version, () => stopAt(from, pointer));

async function stopAt(from: From, pointer: SnapshotPointer): Promise<Read> {
  const { previous, commits, state: stored, version } = await readSnapshot(from, pointer);
  if (previous === null && version !== 0) throw new Unreadable(`snapshot ${version} names no snapshot before it`);
  if (previous !== null && previous.version >= version) {
    throw new Unreadable(`snapshot ${version} names snapshot ${previous.version} as the one before it`);
  }
  const segments = new Map<string, Segment>();
  for (const ref of stored.manifest) segments.set(ref.sha256, await readSegment(from, ref));
  const state = wholeState(stored, ({ sha256 }) => segments.get(sha256) as Segment);
  return { stop: { commits, state, mark: markOf(version, state) }, previous };
}

/** Says of which version it was that could not be read. */
async function ofVersion<T>(version: number, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Unreadable) throw new RecordingDamaged(version, error);
    throw error;
  }
}
