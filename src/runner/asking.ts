/** Whether an invocation that found a run somewhere may have asked its model, and nobody accounted for that. */
import type { Command } from "../core/outstanding.ts";
import type { Phase } from "../core/phases.ts";
import type { State } from "../core/state.ts";

/** The phases in which an invocation that found a run there may have asked its model without a commit in between. */
export const ASKING: ReadonlySet<Phase> = new Set([
  "Preparing",
  "AwaitingLLM",
  "RetryingLLM",
  "Compacting",
  "ForceStop",
]);

/**
 * A run that looks for its code, or goes on after a pause, may ask its model in the same breath. Schedule 65: a pause or
 * a cancel that came after the model was asked does not undo the asking.
 */
export const mayAsk = (phase: Phase, next: Command | undefined): boolean =>
  ASKING.has(phase) && next?.kind !== "wait" && next?.kind !== "end";

/** Schedule 67: an invocation that commits and then asks its model did not claim since, and may be lost all the same. */
export const goesOnAsking = ({ phase, ending }: State, { release }: { readonly release: boolean }): boolean =>
  !release && ending === null && ASKING.has(phase);
