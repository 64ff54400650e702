/**
 * Where a run may call its model. An invocation that claims the run in such a phase leaves a mark (`Row.marksAtClaim`).
 * If the process dies before its next commit, it may have made one model call that is recorded nowhere else.
 */
import { wantsRestart } from "../policy/ending.ts";
import type { Phase } from "../phases.ts";
import { isModelOut } from "../policy/model-out.ts";
import type { State } from "../state.ts";

/** The phases in which an invocation may call the model without a commit in between. */
export const MODEL_PHASES: ReadonlySet<Phase> = new Set([
  "Preparing",
  "AwaitingLLM",
  "RetryingLLM",
  "Compacting",
  "ForceStop",
]);

/**
 * Whether the next invocation may call the model. It depends on the committed state alone, never on the clock or a
 * cancel request. A run whose request is out calls no model: the state itself counts that request. A paused or waiting run
 * may call its model in the same invocation that resumes it (schedule 65).
 */
export const callsModelNext = (state: State): boolean =>
  !isModelOut(state) &&
  MODEL_PHASES.has(state.pausedFrom ?? state.phase) &&
  state.ending === null &&
  !wantsRestart(state);
