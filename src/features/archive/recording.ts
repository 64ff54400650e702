/**
 * The recording of a run: its first state, every commit, and a mark of the state in each snapshot. It is read from a
 * store or from an exported file. A replay needs nothing else: no model, no tool and no agent.
 */
import type { ArchivedRun, Archive, ExportedStart } from "../../codec/archive.ts";
import { Unreadable, canonical, digestOf, sha256 } from "../../codec/canonical.ts";
import { type StateMark, markOf } from "../../codec/mark.ts";
import { filesIn } from "../../codec/file.ts";
import { blobsIn } from "../../codec/value.ts";
import type { CommitRecord } from "../../core/event.ts";
import type { Json } from "../../core/json.ts";
import type { Value } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import type { World } from "../../ports/world.ts";
import { wrongPredecessor } from "../../history/agreement.ts";
import { factsOf } from "./archive.ts";
import { ledgerOf } from "../../history/call-ledger.ts";
import { unlessGone } from "../../history/damage.ts";
import { SegmentCache, type Source, jsonOf, readState } from "../../history/load.ts";
import { type OnStep, commitsOf, inOrder, readHistory } from "../../history/reader.ts";
import { loadVouched } from "../../history/vouch.ts";

/** A recorded run, as a replay needs it. */
export interface Recording {
  /** The facts about the run in its row or in the file. */
  readonly run: ArchivedRun;
  readonly begun: ExportedStart;
  readonly commits: readonly CommitRecord[];
  /** Returns the JSON of a value in a state; null if the recording left it out. */
  readonly json: (value: Value) => Promise<Json>;
}

/** A recorded part is missing or has wrong content. `version`: that of the newest damaged part. */
export class RecordingDamaged extends Unreadable {
  readonly version: number;
  constructor(version: number, cause: Unreadable) {
    super(cause.message, cause.code);
    this.version = version;
  }
}

/** Reads the recording from the store. Null if there is no such run. Throws `RecordingDamaged`. */
export async function recordingIn(
  world: World,
  { run, onStep }: { readonly run: string; readonly onStep?: OnStep },
): Promise<Recording | null> {
  const row = await world.table.read(run, world.clock.now());
  if (row === null) return null;
  const from = { objects: world.objects, row };
  return unlessGone(world, row, async () => {
    const { state } = await ofVersion(row.version, () => loadVouched(world, row, new SegmentCache()));
    const pieces: (readonly CommitRecord[])[] = [];
    const marks: StateMark[] = [];
    let begun = state;
    for await (const { commits, stop } of recordedBack(from, onStep)) {
      pieces.push(commits);
      if (stop === null) continue;
      marks.push(stop.mark);
      begun = stop.state;
    }
    return {
      run: { ...factsOf(row, state), phase: row.phase },
      begun: { state: begun, marks: marks.toReversed() },
      commits: inOrder(pieces),
      json: (value) => jsonOf(world.objects, row, value),
    };
  });
}

/**
 * The recording in a file. Throws `Unreadable` for an archive of a run's end, since that does not hold the first state.
 */
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
 * Compares the transcript, ledger and large values of an exported file with the state that its commits lead to. Returns
 * what is wrong, or null.
 */
export function wrongWithFile(archive: Archive, state: State): string | null {
  const { messages, commits, calls, blobs, files, leftOut } = archive;
  const strange = state.messages.findIndex((each, index) => !isSame(each, messages[index]));
  if (strange >= 0 || messages.length !== state.messages.length) {
    const at = strange < 0 ? state.messages.length : strange;
    return `message ${at + 1} of its transcript is not what its events make of it`;
  }
  if (!isSame(calls, ledgerOf(commits.flatMap(({ events }) => events))))
    return "its ledger is not what its events make of it";
  const forged = [...blobs].find(([digest, json]) => digestOf(json) !== digest);
  if (forged !== undefined) return `blob ${forged[0]} has other content than its name says`;
  const missing = blobsIn([commits, state]).find((digest) => !blobs.has(digest) && !leftOut.blobs.includes(digest));
  if (missing !== undefined) return `blob ${missing} is missing`;
  const altered = [...files].find(([digest, bytes]) => sha256(bytes) !== digest);
  if (altered !== undefined) return `file ${altered[0]} has other content than its name says`;
  const lost = filesIn([commits, state]).find((file) => !files.has(file) && leftOut.files?.includes(file) !== true);
  return lost === undefined ? null : `file ${lost} is missing`;
}

const isSame = (one: unknown, other: unknown): boolean => other !== undefined && canonical(one) === canonical(other);

/** What one piece adds to the history. A snapshot also holds a state (`stop`), the journal does not. */
interface Recorded {
  readonly commits: readonly CommitRecord[];
  readonly stop: { readonly state: State; readonly mark: StateMark } | null;
}

/** Yields the journal, then the snapshots from the newest to the first. Throws `RecordingDamaged`. */
export async function* recordedBack(from: Source, onStep?: OnStep): AsyncGenerator<Recorded> {
  const cached = { ...from, cache: new SegmentCache() };
  for await (const piece of readHistory(from, { through: "states", onStep })) {
    if (piece.kind === "damaged") throw new RecordingDamaged(piece.version, piece.error);
    const commits = commitsOf(piece);
    if (piece.kind !== "snapshot") {
      yield { commits, stop: null };
      continue;
    }
    const { pointer, snapshot } = piece;
    const { version } = pointer;
    const wrong = wrongPredecessor(snapshot);
    if (wrong !== null) throw new RecordingDamaged(version, new Unreadable(`snapshot ${version}: ${wrong}`));
    const state = await ofVersion(version, () => readState(cached, snapshot));
    yield { commits, stop: { state, mark: markOf(snapshot.version, state) } };
  }
}

/** Adds to a read error the version that could not be read. */
async function ofVersion<T>(version: number, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Unreadable) throw new RecordingDamaged(version, error);
    throw error;
  }
}
