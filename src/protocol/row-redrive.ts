/**
 * Redriving a failed run: one decision on its row, which gives it the next epoch and the next execution of its chain and
 * takes its time to live away. Who wants it and why stands in the row until the next invocation has recorded it.
 */
import type { Changed, Of, Refused, Row, RedriveNote } from "./row.ts";

export interface Redrive extends Of {
  /** The failed row as it was judged. */
  readonly epoch: number;
  readonly version: number;
  readonly note: RedriveNote;
  readonly deadline: number;
  /** Of the row that it makes: a redrive takes back when the run was to wake, and which store was away. */
  readonly checksum?: string;
}

/** `late`: it has not failed, or not any more, or not in the epoch that was judged. */
export type RedriveOutcome = Changed<"redriven"> | Changed<"late"> | Refused;

/**
 * Schedule 87: of two redrives one wins, since the epoch that both judged is over then. Quiet, the snapshot and what was
 * spent stay: nobody acts before what an earlier invocation sent has landed.
 */
export function redriven(row: Row, redrive: Redrive): Exclude<RedriveOutcome, Refused> {
  const { epoch, version, note, deadline, now, checksum } = redrive;
  if (row.status !== "failed" || row.epoch !== epoch || row.version !== version) return { kind: "late", row };
  const { checksum: _, ...rest } = row;
  return {
    kind: "redriven",
    row: {
      ...rest,
      ...(checksum === undefined ? {} : { checksum }),
      status: "running",
      statusSince: now,
      epoch: row.epoch + 1,
      chain: row.chain + 1,
      chainClaims: 0,
      owner: null,
      leaseUntil: null,
      park: null,
      wakeAt: null,
      told: false,
      expiresAtSec: null,
      deadline,
      // What recovery had cost is no reason to end it again.
      deaths: 0,
      storeOutage: null,
      redrive: note,
    },
  };
}
