/** When the end of a run counts as told, and its time to live starts. */
import { type Of, type Row, hasEnded } from "./row.ts";

export interface Tell extends Of {
  /** Of the end that is told; absent: of whichever the row has. */
  readonly epoch?: number;
  readonly expiresAtSec: number;
}

/**
 * Schedule 41: the time to live starts when everyone who waits for the end knows it. Schedule 89: a run that was redriven
 * and failed again has another end, of which a late teller of the first one says nothing.
 */
export function told(row: Row, { epoch = row.epoch, expiresAtSec }: Pick<Tell, "epoch" | "expiresAtSec">): Row {
  return hasEnded(row) && !row.told && row.epoch === epoch ? { ...row, told: true, expiresAtSec } : row;
}
