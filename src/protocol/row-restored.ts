/** The word of an operator about a restored run: one decision on its row. */
import { openMark } from "./restored.ts";
import type { RowDecision } from "./row-decision.ts";
import type { Changed, RunRef, Refused, Row } from "./row.ts";

/** An operator says that what the run may have done outside was checked. `restoredAt` names the restore. */
export interface RestoredCheck extends RunRef {
  readonly restoredAt: number;
  readonly by: string;
}

/** `same`: the run has no such mark, or it was said before. */
export type RestoredCheckOutcome = Changed<"checked"> | Changed<"same"> | Refused;

/** Decides the word. A run that waited for it goes on: its pause ends. It also counts for a run that has ended. */
export function decideRestoredCheck(
  row: Row,
  { restoredAt, by, now }: RestoredCheck,
): Exclude<RestoredCheckOutcome, Refused> {
  const mark = openMark(row);
  if (mark === null || mark.at !== restoredAt) return { kind: "same", row };
  const { waits, ...rest } = mark;
  return {
    kind: "checked",
    row: {
      ...row,
      restored: { ...rest, checked: { by, at: now } },
      ...(waits && { pause: false }),
      wakeCount: row.wakeCount + 1,
    },
  };
}

/**
 * Schedule 248: an operator says the word, and a message is acknowledged between the read of the row and its write. The
 * word raises the same wake-up counter. Written over a counter that it did not read, it would take the message back, and
 * the run could end without it. The same holds for a pause that was asked for meanwhile.
 */
export const RESTORED_CHECK: RowDecision<RestoredCheck, RestoredCheckOutcome> = {
  name: "checkRestored",
  decision: decideRestoredCheck,
  reads: () => ["wakeCount", "pause"],
  replaces: () => ["wakeCount", "pause"],
};
