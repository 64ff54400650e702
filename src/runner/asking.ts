/** Whether an invocation that found a run somewhere may have asked its model, and nobody accounted for that. */
import type { Command } from "../core/outstanding.ts";
import type { Phase } from "../core/phases.ts";

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
