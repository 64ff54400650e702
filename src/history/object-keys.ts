/**
 * The keys of objects: one prefix per incarnation of a run. So deleting a run means deleting one prefix, and no key of
 * one run lies below the prefix of another.
 */
import { isRunId, tenantOf } from "../core/ids.ts";
import { ARCHIVES, type ArchiveTier } from "../core/policy/retention.ts";
import type { Incarnation } from "../protocol/row.ts";

/** The common prefix of the objects of all runs. */
export const RUNS = "runs/";

const placeOf = ({ run, born }: Incarnation): string => `${tenantOf(run)}/${run}/${born}`;
const prefixOf = (incarnation: Incarnation): string => `${RUNS}${placeOf(incarnation)}`;

/** The prefix of all keys of this incarnation, and of no others. */
export const prefixUnder = (incarnation: Incarnation): string => `${prefixOf(incarnation)}/`;

/** The incarnation that a key belongs to; null for a key in another format. */
export function incarnationOf(key: string): Incarnation | null {
  const [, run = "", born = ""] = /^runs\/[^/]+\/([^/]+)\/([^/]+)\//.exec(key) ?? [];
  return isRunId(run) && key.startsWith(prefixUnder({ run, born })) ? { run, born } : null;
}

/** `put` counts the PUTs of one epoch: the epoch may write the same version again with other bytes (schedule 17). */
export function snapshotKey(incarnation: Incarnation, at: { version: number; epoch: number; put: number }): string {
  const version = String(at.version).padStart(8, "0");
  return `${prefixOf(incarnation)}/snapshots/${version}-${String(at.epoch).padStart(6, "0")}-${at.put}.json.br`;
}

/** Sorts before the keys of all snapshots of versions above that one, and below the prefix of them all. */
export function snapshotsAbove(
  incarnation: Incarnation,
  version: number,
): { readonly prefix: string; readonly after: string } {
  const prefix = `${prefixOf(incarnation)}/snapshots/`;
  return { prefix, after: `${prefix}${String(version + 1).padStart(8, "0")}` };
}

/** The version and epoch in the key of a snapshot; null for another key. */
export function snapshotAt(key: string): { readonly version: number; readonly epoch: number } | null {
  const [, version, epoch] = /\/snapshots\/(\d{8})-(\d{6,})-\d+\.json\.br$/.exec(key) ?? [];
  return version === undefined ? null : { version: Number(version), epoch: Number(epoch) };
}

/** Content-addressed: every process that seals the same history writes the same bytes to the same key. */
export const sealedKey = (incarnation: Incarnation, at: { from: number; to: number; digest: string }): string =>
  `${prefixOf(incarnation)}/events/${at.from}-${at.to}-${at.digest.slice(0, 16)}`;

export const segmentKey = (incarnation: Incarnation, sha256: string): string =>
  `${prefixOf(incarnation)}/segments/${sha256}`;

export const blobKey = (incarnation: Incarnation, sha256: string): string => `${prefixOf(incarnation)}/blobs/${sha256}`;

/** Content-addressed. It is removed with its run. */
export const exportKey = (incarnation: Incarnation, digest: string): string =>
  `${prefixOf(incarnation)}/exports/${digest}`;

/** The bytes as they were given, so that a store can hand them out by itself. */
export const fileKey = (incarnation: Incarnation, sha256: string): string => `${prefixOf(incarnation)}/files/${sha256}`;

/**
 * Archives are stored outside the prefix of their run, so they survive its clean-up. An object is put only once, so
 * each end of a redriven run has an archive of its own. `end` counts the ends from 1.
 */
export const archiveKey = (incarnation: Incarnation, tier: ArchiveTier, end = 1): string =>
  `${archivesUnder(incarnation, tier)}${end === 1 ? "" : `${end}.`}jsonl.gz`;

/** The prefix of all archives of this incarnation in this tier, and of no others. */
export const archivesUnder = (incarnation: Incarnation, tier: ArchiveTier): string =>
  `${ARCHIVES[tier].prefix}${placeOf(incarnation)}.`;
