/**
 * Where a run may call its model. Whoever claims a run there claims with a mark (`Row.will`): a process that dies before
 * its next commit may have made one call that nothing else would account for.
 */
import type { Phase } from "../phases.ts";
import { wantsRestart } from "./saga.ts";
import type { State } from "../state.ts";

/** The phases in which an invocation may call the model without a commit in between. */
export const ASKING: ReadonlySet<Phase> = new Set([
  "Preparing",
  "AwaitingLLM",
  "RetryingLLM",
  "Compacting",
  "ForceStop",
]);

/**
 * A function of the committed state alone: never of the clock, of a cancel, or of what is owed first. A run that is paused,
 * or that waits for its agent, may call its model in the same invocation that resumes it (schedule 65).
 */
export const mayCallModel = (state: State): boolean =>
  ASKING.has(state.pausedFrom ?? state.phase) && state.ending === null && !wantsRestart(state);
