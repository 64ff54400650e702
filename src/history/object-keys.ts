/**
 * Where objects lie: one prefix per incarnation of a run, so that deleting a run is deleting a prefix, and nothing
 * names another run's prefix.
 */
import { isRunId } from "../core/ids.ts";
import { ARCHIVES, type ArchiveTier } from "../core/policy/retention.ts";
import type { Incarnation } from "../protocol/row.ts";

/** What every key of a run begins with. */
export const RUNS = "runs/";

const placeOf = ({ run, born }: Incarnation): string => `${run.slice(0, run.indexOf("-"))}/${run}/${born}`;
const prefixOf = (of: Incarnation): string => `${RUNS}${placeOf(of)}`;

/** What the keys of that incarnation begin with, and no others. */
export const prefixUnder = (of: Incarnation): string => `${prefixOf(of)}/`;

/** Whose key that is; null if it is none of ours. */
export function incarnationOf(key: string): Incarnation | null {
  const [, run = "", born = ""] = /^runs\/[^/]+\/([^/]+)\/([^/]+)\//.exec(key) ?? [];
  return isRunId(run) && key.startsWith(prefixUnder({ run, born })) ? { run, born } : null;
}

/** `put` counts the PUTs of one epoch: the same version may be written again with other bytes (schedule 17). */
export function snapshotKey(of: Incarnation, at: { version: number; epoch: number; put: number }): string {
  const version = String(at.version).padStart(8, "0");
  return `${prefixOf(of)}/snapshots/${version}-${String(at.epoch).padStart(6, "0")}-${at.put}.json.br`;
}

/** Content-addressed: every process that seals the same history writes the same bytes under the same key. */
export const sealedKey = (of: Incarnation, at: { from: number; to: number; digest: string }): string =>
  `${prefixOf(of)}/events/${at.from}-${at.to}-${at.digest.slice(0, 16)}`;

export const segmentKey = (of: Incarnation, sha256: string): string => `${prefixOf(of)}/segments/${sha256}`;

export const blobKey = (of: Incarnation, sha256: string): string => `${prefixOf(of)}/blobs/${sha256}`;

/**
 * Beside the runs and not below them: it stays when its run is cleaned up. A redriven run has another end, with an archive of
 * its own: an object is put once.
 */
export const archiveKey = (of: Incarnation, tier: ArchiveTier, end = 1): string =>
  `${archivesUnder(of, tier)}${end === 1 ? "" : `${end}.`}jsonl.gz`;

/** What the keys of its archives begin with, and no others. */
export const archivesUnder = (of: Incarnation, tier: ArchiveTier): string => `${ARCHIVES[tier].prefix}${placeOf(of)}.`;
