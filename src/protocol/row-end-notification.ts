/** Records that the end of a run was delivered, which starts its retention. */
import { type Changed, type RunRef, type Row, hasEnded } from "./row.ts";
import type { RowDecision } from "./row-decision.ts";

/** A report that the end of a run was delivered to everyone that waits for it. */
export interface EndNotification extends RunRef {
  /** The epoch of the end that was delivered; absent: the current end. */
  readonly epoch?: number;
  readonly expiresAtSec: number;
}

/**
 * The row after the report.
 *
 * Schedule 41: retention starts only when everyone that waits for the end knows it. Schedule 89: a run that was
 * redriven and failed again has another end, so a late report of the first end changes nothing.
 */
export function markEndNotified(
  row: Row,
  { epoch = row.epoch, expiresAtSec }: Pick<EndNotification, "epoch" | "expiresAtSec">,
): Row {
  return hasEnded(row) && !row.endNotified && row.epoch === epoch ? { ...row, endNotified: true, expiresAtSec } : row;
}

/** The caller keeps the key first, since the row may be removed at any moment after this write (`tombstone.ts`). */
export const END_NOTIFICATION: RowDecision<EndNotification, Changed<"notified">> = {
  name: "recordEndNotified",
  decision: (row, notification) => ({ kind: "notified", row: markEndNotified(row, notification) }),
};
