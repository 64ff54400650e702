/**
 * Tombstones: a small record that keeps an idempotency key after the data of its run is gone. A run is found by its key,
 * so without one a retry that comes after the retention would start the work again (schedule 81).
 *
 * The row governs while it is there: a tombstone counts only once its run's row is expired or removed. So it may be
 * written before the end that it tells of, and an end that is refused afterwards leaves a record that counts for nothing.
 */
import { type Incarnation, type Row, hasEnded } from "./row.ts";

export interface Tombstone extends Incarnation {
  readonly agent: string;
  readonly inputDigest: string;
  readonly status: "completed" | "failed" | "cancelled";
  /** Epoch milliseconds. */
  readonly endedAt: number;
  /** The fencing token of its writer. */
  readonly epoch: number;
  /** The key is kept until then. */
  readonly expiresAtSec: number;
}

/**
 * Schedule 83: an invocation writes the tombstone of its end, is frozen, and a later epoch ends the run otherwise. Of one
 * incarnation the record of the newest epoch stands, and of one epoch the newest record.
 */
export function laid(found: Tombstone | null, next: Tombstone): Tombstone {
  if (found === null || found.born !== next.born) return next;
  const isNewer = next.epoch > found.epoch || (next.epoch === found.epoch && next.endedAt >= found.endedAt);
  return isNewer ? next : found;
}

/** The key is kept at that time, deleted or not. */
export const isKept = ({ expiresAtSec }: Tombstone, now: number): boolean => expiresAtSec * 1_000 > now;

/** How a run ended and under which epoch; `at`, epoch milliseconds. */
export interface End {
  readonly status: Tombstone["status"];
  readonly at: number;
}

/** The tombstone of a run that ends so. Its key outlives its row, however long its agent keeps that. */
export function tombstoneOf(row: Row, of: End & { readonly keptMs: number; readonly expiresAtSec: number }): Tombstone {
  const { run, born, agent, inputDigest, epoch } = row;
  const { status, at: endedAt, keptMs } = of;
  const expiresAtSec = Math.max(Math.ceil((endedAt + keptMs) / 1_000), of.expiresAtSec);
  return { run, born, agent, inputDigest, status, endedAt, epoch, expiresAtSec };
}

/** The end that a row tells of; null for a run that goes on. */
export const endIn = (row: Row): End | null =>
  hasEnded(row) ? { status: row.status as Tombstone["status"], at: row.statusSince } : null;
