/**
 * Records costs that no event contains yet: time at work, and model calls whose replies are lost. Without these debits
 * the budget would allow the run to spend the same amount again.
 */
import { NO_PRICE } from "../../core/policy/price.ts";
import type { RunParts } from "./run-parts.ts";
import { estimatedCost } from "./unaccounted-model-calls.ts";

/**
 * Debits the time at work since the last debit, if an agent of the run limits it. Callers record it together with the
 * events that the time was spent on: a poll that finds nothing to do is not work.
 */
export function debitTime(run: RunParts): void {
  if (run.terms?.countsTime !== true && run.state.spent.wallMs === undefined) return;
  const { now } = run;
  const wallMs = run.pending.takeTime(now);
  if (wallMs > 0) run.pending.record({ kind: "BudgetDebited", at: now, debit: { wallMs }, for: "time at work" });
}

/**
 * Debits the model calls of earlier invocations at their estimated cost, and returns how many there were. This happens
 * before the next call is judged affordable, so that recovery itself is bounded. It also happens in every commit,
 * including that of an end.
 */
export function debitOtherInvocations(run: RunParts): number {
  const others = run.pending.takeOthersCalls();
  if (others === 0) return 0;
  recordLost(run, { calls: others, why: "its process ended before the reply was kept" });
  return others;
}

/** The model call of this invocation has left, and its reply is lost. Debits its estimated cost. */
export function recordOwnCallLost(run: RunParts, why: string): void {
  recordLost(run, { calls: 1, why });
  run.pending.modelCallSettled();
}

/** Records model calls whose replies are lost. Another event debits their cost. */
export function recordLostCalls(run: RunParts, lost: { readonly calls: number; readonly why: string }): void {
  const isClosing = (run.state.pausedFrom ?? run.state.phase) === "ForceStop";
  run.pending.record({ kind: "ModelCallLost", at: run.now, ...lost, ...(isClosing && { closing: true as const }) });
}

function recordLost(run: RunParts, lost: { readonly calls: number; readonly why: string }): void {
  const at = run.now;
  recordLostCalls(run, lost);
  // If the agent is not loaded, the price in the state applies.
  const price = run.terms?.price ?? run.state.price ?? NO_PRICE;
  const debit = estimatedCost(run.state, price, lost.calls, run.terms?.summaryCharacters);
  run.pending.record({ kind: "BudgetDebited", at, debit, for: "lost model calls, estimated" });
}
