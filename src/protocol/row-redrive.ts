/**
 * Redrive: one decision on the row of a failed run. It gives the row the next epoch and the next execution of its
 * chain, and clears its expiry. The row keeps who asked and why, until the next invocation has recorded it.
 */
import { type RestoreTimes, RESTORED_EPOCHS, markRestored } from "./restored.ts";
import type { RowDecision } from "./row-decision.ts";
import type { Changed, RunRef, Refused, Row, RedriveNote } from "./row.ts";

/** A request to let a failed run go on. */
export interface Redrive extends RunRef {
  /** The failed row as it was judged. */
  readonly epoch: number;
  readonly version: number;
  readonly note: RedriveNote;
  readonly deadline: number;
  /** The checksum of the resulting row. It changes, since a redrive clears the wake-up time and the store outage. */
  readonly checksum?: string;
  /** The store was restored after the end of the run, and nothing outside was checked since. Absent: neither. */
  readonly restored?: RestoreTimes;
}

/** `late`: the run has not failed, or no longer, or not in the epoch that the caller judged. */
export type RedriveOutcome = Changed<"redriven"> | Changed<"late"> | Refused;

/**
 * Decides a redrive. Schedule 87: two operators redrive a run at once. One wins, since its write ends the epoch that
 * both judged. `effectsSettleAt`, the snapshot and the spent budget stay, so the run waits until earlier requests have
 * landed.
 */
export function decideRedrive(row: Row, redrive: Redrive): Exclude<RedriveOutcome, Refused> {
  const { epoch, version, note, deadline, now, checksum, restored } = redrive;
  if (row.status !== "failed" || row.epoch !== epoch || row.version !== version) return { kind: "late", row };
  const { checksum: _, ...rest } = row;
  return {
    kind: "redriven",
    row: {
      ...rest,
      ...(checksum === undefined ? {} : { checksum }),
      ...(restored === undefined ? {} : { restored: markRestored(row, restored) }),
      status: "running",
      statusSince: now,
      // In the lost time it may have been redriven before, under the epochs that follow this one (schedule 219).
      epoch: row.epoch + (restored === undefined ? 1 : RESTORED_EPOCHS),
      chain: row.chain + 1,
      chainClaims: 0,
      claimedAt: now,
      owner: null,
      leaseUntil: null,
      park: null,
      wakeAt: null,
      endNotified: false,
      expiresAtSec: null,
      deadline,
      // Earlier crashes and outages must not end the redriven run at once.
      deaths: 0,
      storeOutage: null,
      redrive: note,
    },
  };
}

export const REDRIVE: RowDecision<Redrive, RedriveOutcome> = {
  name: "redrive",
  decision: decideRedrive,
  replaces: () => ["deadline"],
};
