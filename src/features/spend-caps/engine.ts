/**
 * Holds a model call back once all runs together have spent what they may in a day. The run waits without a process, and
 * looks again from time to time: an operator may have raised the cap. Calls that have left are not cut off. So the cap is
 * exceeded at most by the calls that are under way in the moment in which it is reached.
 */
import { alarm } from "../../history/alarm.ts";
import { capWords, spendCapReached } from "./today.ts";
import { unitFrom } from "../../history/resolve-ambiguous-write.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import type { StepOutcome } from "../../engine/context/next.ts";

const LOOK_MS = 15 * 60_000;
/** Not all runs look at the same moment. */
const SPREAD_MS = 60_000;

/** Returns null if a model call may leave; otherwise the step returns the outcome, with which the run is released. */
export async function heldByCap(run: ActiveRun): Promise<StepOutcome | null> {
  const { world } = run;
  const reached = await spendCapReached(world);
  if (reached === null) return null;
  const spread = Math.ceil(SPREAD_MS * unitFrom(world.random.hex()));
  const until = Math.min(reached.resetsAt, run.now + LOOK_MS) + spread;
  alarm(world, run.row.run, { what: "SpendCapReached", why: capWords(reached) });
  return { next: "release", saw: [], until };
}
