/** A snapshot and all that it names, stored before the row names it: payload first, pointer last. */
import { type Seal, encodeSnapshot } from "../codec/snapshot.ts";
import type { Sign } from "../codec/voucher.ts";
import type { CommitRecord } from "../core/event.ts";
import type { State } from "../core/state.ts";
import type { Row, SnapshotPointer } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { certainlyPut } from "./resolve-ambiguous-write.ts";
import type { CommitCache } from "./commits.ts";
import { snapshotKey } from "./object-keys.ts";
import type { SegmentCache } from "./load.ts";
import { putSegments, putSnapshot } from "./write-objects.ts";
import { nextSeal } from "./seal.ts";

/** A snapshot that is stored, and what it says of its history. */
export interface StoredSnapshot {
  readonly snapshot: SnapshotPointer;
  readonly seal: Seal;
}

/** What a process knows of the objects of a run, so that it stores nothing twice and reads little again. */
export interface ObjectCaches {
  /** Sealed segments that are known to be stored. */
  readonly stored: Set<string>;
  readonly segments: SegmentCache;
  readonly commits: CommitCache;
}

export interface Storing {
  /** As it is committed, and how far its history is sealed. */
  readonly row: Row;
  readonly seal: Seal;
  readonly version: number;
  readonly level: number;
  readonly commits: readonly CommitRecord[];
  readonly state: State;
  /** Counts the snapshots of this epoch (schedule 17). */
  readonly put: number;
  readonly caches: ObjectCaches;
  readonly leftMs: () => number;
  /** Null: it gets no keyed seal. */
  readonly sign: Sign | null;
}

export async function storeSnapshot(world: World, of: Storing): Promise<StoredSnapshot> {
  const { objects } = world;
  const { row, version, level, commits, state, put, caches, leftMs, sign } = of;
  const { seal, object } = await nextSeal({ world, row, seal: of.seal, cache: caches.commits, leftMs });
  const { digest, bytes, segments } = encodeSnapshot({
    version,
    level,
    previous: row.snapshot,
    seal,
    commits,
    state,
    sign,
  });
  if (object !== null) await certainlyPut(() => objects.put(object.key, object.bytes));
  const unknown = segments.filter(({ ref }) => !caches.stored.has(ref.sha256));
  await putSegments(objects, row, unknown);
  for (const segment of unknown) {
    caches.stored.add(segment.ref.sha256);
    caches.segments.add(segment);
  }
  const key = snapshotKey(row, { version, epoch: row.epoch, put });
  await putSnapshot(objects, { key, bytes });
  return { snapshot: { version, key, digest }, seal };
}
