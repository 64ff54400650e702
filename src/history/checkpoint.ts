/**
 * Stores a checkpoint: the snapshot and every object that it names, before the row points to it. Payload first, pointer
 * last: a crash in between leaves orphans and never a dangling pointer.
 */
import { type Seal, encodeSnapshot } from "../codec/snapshot.ts";
import type { Sign } from "../codec/voucher.ts";
import type { CommitRecord } from "../core/event.ts";
import type { State } from "../core/state.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousPut } from "./resolve-ambiguous-write.ts";
import type { CommitCache } from "./commits.ts";
import { snapshotKey } from "./object-keys.ts";
import type { SegmentCache } from "./load.ts";
import type { KnownState } from "./state-cache.ts";
import { putSegments, putSnapshot } from "./write-objects.ts";
import { nextSeal } from "./seal.ts";

/** A stored snapshot, how far its history is sealed, and what the process knows of it. */
export interface StoredSnapshot {
  readonly snapshot: SnapshotPointer;
  readonly seal: Seal;
  readonly known: KnownState;
}

/** What a process knows about the objects of a run. It prevents repeated writes and most repeated reads. */
export interface ObjectCaches {
  /** Digests of the sealed segments that are known to be stored. */
  readonly stored: Set<string>;
  readonly segments: SegmentCache;
  readonly commits: CommitCache;
}

/** The input of `storeSnapshot`. */
export interface Storing {
  /** The committed row, and how far its history is sealed. */
  readonly row: Row;
  readonly seal: Seal;
  readonly version: number;
  readonly level: number;
  readonly commits: readonly CommitRecord[];
  readonly state: State;
  /** The number of the snapshot within this epoch (schedule 17). */
  readonly put: number;
  readonly caches: ObjectCaches;
  readonly leftMs: () => number;
  /** Null: the snapshot gets no keyed seal. */
  readonly sign: Sign | null;
}

/** Puts the sealed events if they are due, new segments, and the snapshot, in this order. */
export async function storeSnapshot(world: World, storing: Storing): Promise<StoredSnapshot> {
  const { objects } = world;
  const { row, version, level, commits, state, put, caches, leftMs, sign } = storing;
  const { seal, object } = await nextSeal({ world, row, seal: storing.seal, cache: caches.commits, leftMs });
  const { digest, bytes, textBytes, snapshot, segments } = encodeSnapshot({
    version,
    level,
    previous: row.snapshot,
    seal,
    commits,
    state,
    segmentBytes: world.sizes.segmentBytes,
    sign,
  });
  if (object !== null) await resolveAmbiguousPut(() => objects.put(object.key, object.bytes));
  const unknown = segments.filter(({ ref }) => !caches.stored.has(ref.sha256));
  await putSegments(objects, row, unknown);
  for (const segment of unknown) {
    caches.stored.add(segment.ref.sha256);
    caches.segments.add(segment);
  }
  const key = snapshotKey(row, { version, epoch: row.epoch, put });
  await putSnapshot(objects, { key, bytes });
  const pointer = { version, key, digest };
  const transcriptBytes = segments.reduce((sum, { ref }) => sum + ref.bytes, 0);
  caches.segments.states.add(row, pointer, { snapshot, state, bytes: textBytes + transcriptBytes });
  return { snapshot: pointer, seal, known: { snapshot, state } };
}
