/** Ends a run that no answer, resume or message has reached for as long as a run may wait. */
import { type Trouble, decideRecovery, forceEnd } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { commitDecided } from "./terminal-commit.ts";

const EXPIRED: Trouble = {
  kind: "deadline",
  failure: { code: "Expired", message: "no answer, resume or message reached this run for as long as it may wait" },
};

/** Whether the wait is over. The chain's clock may be ahead, so a wake-up may come early by the margin of clocks. */
export const isTooLate = (run: ActiveRun): boolean =>
  run.world.clock.earliest() + run.world.limits.skewMs >= run.noticed.waitsUntil;

/**
 * Ends a run that has waited too long. As with the expiry of a gate (schedule 13), a message, a reconciliation or a
 * resume that comes before the commit wins. Then the run has not expired.
 */
export async function expire(run: ActiveRun): Promise<"continue" | "woken"> {
  const { row } = run;
  const before = run.mark();
  run.record(forceEnd(run.state, EXPIRED, run.now) ?? decideRecovery(run.state, EXPIRED, run.now));
  // Before `effectsSettleAt` the end cannot be committed yet. The decision alone is committed then, and nothing reverts it.
  if (run.state.ending === null || run.owed()[0]?.kind !== "end") return "continue";
  await commitDecided(run, run.state.ending);
  // A long inbox may have needed a commit, which then contains this decision as well. A committed decision stays.
  if (run.state.ending === null || run.row.version !== row.version || run.row === row) return "continue";
  run.restore(before);
  return "woken";
}
