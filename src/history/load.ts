/**
 * Loads a run as it is committed: its row, the snapshot that the row points to, and the journal folded over it.
 * Anything that cannot be read or verified throws `Unreadable`, and no process may commit over it.
 */
import { BytesMap } from "../codec/bytes-map.ts";
import { Unreadable } from "../codec/canonical.ts";
import { hasOwnForms } from "../codec/checksum.ts";
import { assertKnown } from "../codec/row.ts";
import type { SegmentRef } from "../codec/schema/state.ts";
import type { SealedRef } from "../codec/schema/sealed.ts";
import { type SealedEvents, decodeSealed } from "../codec/sealed.ts";
import { decodeJournal } from "../codec/journal.ts";
import { type SchemaCheck, type Snapshot, assertFormat, decodeSnapshot, wholeState } from "../codec/snapshot.ts";
import { type Segment, decodeSegment } from "../codec/transcript.ts";
import { fromBlob } from "../codec/value.ts";
import type { CommitRecord } from "../core/event.ts";
import { LEVEL } from "../core/levels.ts";
import { InvariantViolated } from "../core/ensure.ts";
import { type Json, copyOfJson } from "../core/json.ts";
import type { Value } from "../core/message.ts";
import type { Incarnation, Row, SnapshotPointer } from "../protocol/row.ts";
import type { State } from "../core/state.ts";
import type { Kernel } from "../core/transition.ts";
import type { World } from "../ports/world.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { blobKey, segmentKey } from "./object-keys.ts";
import { type Head, type KnownState, StateCache } from "./state-cache.ts";

/** A run as it is committed. */
export interface Loaded {
  readonly row: Row;
  readonly state: State;
  /** The snapshot that the row points to. */
  readonly snapshot: Snapshot;
  /** The state of that snapshot. */
  readonly base: State;
  /** The commits since the snapshot. */
  readonly journal: readonly CommitRecord[];
  /** Digests of the sealed transcript segments that are known to be stored. */
  readonly stored: ReadonlySet<string>;
}

/**
 * Sealed transcript segments by digest, for a warm process, and the states that it stored last. Beyond its bound it
 * evicts the oldest segments first.
 */
export class SegmentCache {
  readonly states = new StateCache();
  readonly #segments = new BytesMap<Segment>(CACHE_BYTES_MAX);

  get(sha256: string): Segment | undefined {
    return this.#segments.get(sha256);
  }

  add(segment: Segment): void {
    const { sha256, bytes } = segment.ref;
    if (this.#segments.get(sha256) === undefined) this.#segments.set(sha256, segment, bytes);
  }
}

const CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** Loads the run of `row`. `level`: the level of this process. Throws `Unreadable` and `RowNewer`. */
export async function load(
  { objects, kernel }: Pick<World, "objects" | "kernel">,
  row: Row,
  cache: SegmentCache,
  level?: number,
): Promise<Loaded> {
  assertKnown(row, level);
  assertFormat(row.format, `run ${row.run}`);
  const { snapshot, state: base } = cache.states.get(row) ?? (await readKnown({ objects, row, cache }));
  const { commits: journal, state } = cache.states.head(row) ?? replayed(kernel, base, journalOf(row));
  const stored = new Set(snapshot.state.manifest.map(({ sha256 }) => sha256));
  return { row, state, snapshot, base, journal, stored };
}

async function readKnown(from: Source & { readonly cache: SegmentCache }): Promise<KnownState> {
  const snapshot = await readSnapshot(from, from.row.snapshot, "unlessOwn");
  return { snapshot, state: await readState(from, snapshot, snapshot.authorLevel === LEVEL) };
}

/**
 * Whoever decoded the row has compared its journal with its checksum. Where that also names the stored forms of this code,
 * the journal is what a process with the same schemas wrote, and no process writes what it has not made or checked.
 */
const journalOf = (row: Row): readonly CommitRecord[] =>
  decodeJournal(row.journal, row.checksum !== undefined && hasOwnForms(row));

/** Events that do not follow from the snapshot are as unreadable as damaged bytes. */
function replayed({ foldAll }: Kernel, base: State, commits: readonly CommitRecord[]): Pick<Head, "commits" | "state"> {
  try {
    return { commits, state: commits.reduce((state, commit) => foldAll(state, commit.events), base) };
  } catch (error) {
    if (!(error instanceof InvariantViolated)) throw error;
    throw new Unreadable(`the journal does not follow its snapshot: ${error.message}`);
  }
}

/** Where the objects of a run are read from. */
export interface Source {
  readonly objects: ObjectStore;
  readonly row: Row;
}

/** Throws `Unreadable` if the snapshot is missing, damaged, or belongs to another run. */
export async function readSnapshot(
  { objects, row }: Source,
  pointer: SnapshotPointer,
  schema?: SchemaCheck,
): Promise<Snapshot> {
  const bytes = await objects.get(pointer.key);
  if (bytes === null) throw new Unreadable(`snapshot ${pointer.key} is missing`, "SnapshotMissing");
  const snapshot = decodeSnapshot(pointer, bytes, schema);
  const { run, born } = snapshot.state;
  if (run !== row.run || born !== row.born) throw new Unreadable(`snapshot ${pointer.key} belongs to run ${run}`);
  return snapshot;
}

/** Throws `Unreadable` if the sealed events are missing or damaged. */
export async function readSealed({ objects }: Source, ref: SealedRef): Promise<SealedEvents> {
  const bytes = await objects.get(ref.key);
  if (bytes === null) throw new Unreadable(`sealed events ${ref.key} are missing`, "SealedMissing");
  return decodeSealed(ref, bytes);
}

/** The state of a snapshot, with its transcript. `isChecked`: the schema of its segments holds. */
export async function readState(
  from: Source & { readonly cache: SegmentCache },
  { state }: Pick<Snapshot, "state">,
  isChecked = false,
): Promise<State> {
  const segments = await Promise.all(state.manifest.map((ref) => readSegment(from, ref, isChecked)));
  const byDigest = new Map(segments.map((segment) => [segment.ref.sha256, segment]));
  return wholeState(state, ({ sha256 }) => byDigest.get(sha256) as Segment);
}

/** Reads a transcript segment, from the cache if possible. Throws `Unreadable`. */
export async function readSegment(
  { objects, row, cache }: Source & { readonly cache: SegmentCache },
  ref: SegmentRef,
  isChecked = false,
): Promise<Segment> {
  const warm = cache.get(ref.sha256);
  if (warm !== undefined) return warm;
  const bytes = await objects.get(segmentKey(row, ref.sha256));
  if (bytes === null) throw new Unreadable(`segment ${ref.sha256} is missing`, "SegmentMissing");
  const segment = decodeSegment(ref, bytes, isChecked);
  cache.add(segment);
  return segment;
}

/** The JSON of a value, read from its blob if it is large. */
export async function jsonOf(objects: ObjectStore, incarnation: Incarnation, value: Value): Promise<Json> {
  // A copy, since user code receives it and must not be able to change committed data.
  if (value.kind === "inline") return copyOfJson(value.json);
  return fromBlob(value.sha256, await readBlob(objects, incarnation, value.sha256));
}

/** The stored bytes of a blob. They are not yet compared with its digest. */
export async function readBlob(objects: ObjectStore, incarnation: Incarnation, sha256: string): Promise<Uint8Array> {
  const bytes = await objects.get(blobKey(incarnation, sha256));
  if (bytes === null) throw new Unreadable(`blob ${sha256} is missing`, "BlobMissing");
  return bytes;
}
