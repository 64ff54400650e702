/**
 * Forks: a new run that begins with the state of another run at one of its versions. Only a state between two replies of
 * the model can be forked: nothing of it is under way then, so no call and no wait has two owners.
 */
import { repeatsOf } from "../../core/calls/repeats.ts";
import type { Phase } from "../../core/phases.ts";
import type { State } from "../../core/state.ts";
import { isModelOut } from "../../core/policy/model-out.ts";

/** `CallsOpen`: calls or child runs are under way. `Ending`: its end is decided. `Elsewhere`: another step is under way. */
export type ForkRefusal = "CallsOpen" | "Ending" | "Elsewhere";

/** The phases in which the run waits for its model, or for what comes before that. */
const BETWEEN: ReadonlySet<Phase> = new Set([
  "Preparing",
  "AwaitingLLM",
  "RetryingLLM",
  "Compacting",
  "AwaitingApproval",
]);

/** Why the state cannot be forked; null if it can. */
export function forkRefusal(state: Omit<State, "messages">): ForkRefusal | null {
  const { open, children, ending, saga, compensate, stopsFor, phase, pausedFrom, result, failure } = state;
  // Between two undos of a roll-back no call is open, and the next undo is owed.
  if (open.length > 0 || children.length > 0 || repeatsOf(state).due.length > 0) return "CallsOpen";
  const isEnding = ending !== null || saga !== undefined || compensate !== undefined || stopsFor !== undefined;
  if (isEnding || result !== null || failure !== null || phase === "Cancelled") return "Ending";
  if (isModelOut(state)) return "Elsewhere";
  return BETWEEN.has(pausedFrom ?? phase) ? null : "Elsewhere";
}
