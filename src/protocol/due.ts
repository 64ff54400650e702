/** When the sweeper has to judge a run: until then a run that waits in a park needs nothing. */
import { type Row, hasEnded } from "./row.ts";

/**
 * From when on the sweeper has to judge this row, epoch milliseconds. It is 0 for a row that any sweep judges. So the
 * value changes when a run is parked and when it goes on, and no commit of a run at work changes it.
 *
 * Schedule 144: a message is stored, and its sender dies before it wakes the run. The write of the message sets this
 * to 0, because nothing else would tell a sweep of that run before its park is over.
 */
export const dueAt = (row: Row): number =>
  row.park === null || row.wakeCount !== row.wakeCountSeen || hasEnded(row) ? 0 : (row.wakeAt ?? row.deadline);

/** Whether the run has not ended, or its end has not been delivered, and a sweep has to judge it by that time. */
export const isRowDue = (row: Row, by: number): boolean => !(hasEnded(row) && row.endNotified) && dueAt(row) <= by;
