/** What is said about output that could not be written. */
import type { LostLines } from "../ports/supervision.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import { type LostOutput, reasonOfLoss } from "./terminal/output.ts";

/** For a command that answers. What it did is done. */
export const outputLost = (lost: LostOutput): UserError =>
  new UserError({
    code: "OutputLost",
    exit: EXIT.store,
    what: `the output of this command could not be written: ${reasonOfLoss(lost)}`,
    why: "what the command did is done; only its answer is lost",
    next: "df -h",
  });

/** For the output of a command that goes on, once it can be written again. */
export function sayLost(lost: LostOutput, json: boolean): string {
  const { lines, code } = lost;
  if (json) return JSON.stringify({ at: Date.now(), kind: "outputLost", lines, code });
  return `${lines} ${lines === 1 ? "line" : "lines"} of output could not be written: ${reasonOfLoss(lost)}`;
}

/** What several streams have lost; null: nothing. The reason is that of the first. */
export function lostLines(streams: readonly (LostOutput | null)[]): LostLines | null {
  const losses = streams.filter((each) => each !== null);
  const [first] = losses;
  if (first === undefined) return null;
  return { lines: losses.reduce((sum, { lines }) => sum + lines, 0), why: reasonOfLoss(first) };
}
