/**
 * Tombstones: small records that keep an idempotency key after the data of its run is gone. A run is found by its key,
 * so without a tombstone a retry after the retention would start the work again (schedule 81).
 *
 * While a row exists it governs, and its tombstone counts only once the row is expired or removed. So the tombstone may
 * be written before the end of its run. If that end is then refused, the tombstone has no effect.
 */
import { type Incarnation, type Row, hasEnded } from "./row.ts";

/** The record that keeps the key of one ended incarnation. */
export interface Tombstone extends Incarnation {
  readonly agent: string;
  readonly inputDigest: string;
  readonly status: "completed" | "failed" | "cancelled";
  /** Epoch milliseconds. */
  readonly endedAt: number;
  /** The epoch (fencing token) of its writer. */
  readonly epoch: number;
  /** The key is kept until this time, in seconds since the epoch. */
  readonly expiresAtSec: number;
}

/**
 * The tombstone to keep of the stored one and the next one.
 *
 * Schedule 83: an invocation is about to write the tombstone of its end and freezes; a later epoch ends the run
 * otherwise; the first one thaws. Within one incarnation the newest epoch counts, and within one epoch the newest
 * record.
 */
export function newerTombstone(found: Tombstone | null, next: Tombstone): Tombstone {
  if (found === null || found.born !== next.born) return next;
  const isNewer = next.epoch > found.epoch || (next.epoch === found.epoch && next.endedAt >= found.endedAt);
  return isNewer ? next : found;
}

/** True if the key is still kept at `now`, whether or not the record was deleted. */
export const isKept = ({ expiresAtSec }: Tombstone, now: number): boolean => expiresAtSec * 1_000 > now;

/** How a run ended, and when (`at`, epoch milliseconds). */
export interface End {
  readonly status: Tombstone["status"];
  readonly at: number;
}

/** The tombstone of a run that ends this way. It never expires before the row, however long the agent keeps the row. */
export function tombstoneOf(
  row: Row,
  end: End & { readonly keptMs: number; readonly expiresAtSec: number },
): Tombstone {
  const { run, born, agent, inputDigest, epoch } = row;
  const { status, at: endedAt, keptMs } = end;
  const expiresAtSec = Math.max(Math.ceil((endedAt + keptMs) / 1_000), end.expiresAtSec);
  return { run, born, agent, inputDigest, status, endedAt, epoch, expiresAtSec };
}

/** The end that a row records; null for a run that goes on. */
export const endIn = (row: Row): End | null =>
  hasEnded(row) ? { status: row.status as Tombstone["status"], at: row.statusSince } : null;
