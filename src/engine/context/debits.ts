/**
 * Records what a run has spent and no event accounts for yet: time at work, and model calls whose replies are lost. The
 * budget would otherwise allow what is paid for already.
 */
import { NO_PRICE } from "../../core/policy/price.ts";
import type { RunParts } from "./run-parts.ts";
import { estimatedCost } from "./unaccounted-model-calls.ts";

/** With what it was spent on, where an agent of the run limits it: a poll that finds nothing to do is no work. */
export function debitTime(run: RunParts): void {
  if (!run.noticed.countsTime && run.state.spent.wallMs === undefined) return;
  const { now } = run;
  const wallMs = run.pending.takeTime(now);
  if (wallMs > 0) run.pending.record({ kind: "BudgetDebited", at: now, debit: { wallMs }, for: "time at work" });
}

/**
 * Debits the calls of invocations before this one at their estimate: before the next call is judged affordable, so that
 * recovery itself is bounded, and in every commit, an end included. Says how many.
 */
export function debitOthers(run: RunParts): number {
  const others = run.pending.takeOthersCalls();
  if (others === 0) return 0;
  recordLost(run, { calls: others, why: "its process ended before the reply was kept" });
  return others;
}

/** The call of this invocation has left, and its reply is lost. */
export function ownCallLost(run: RunParts, why: string): void {
  recordLost(run, { calls: 1, why });
  run.pending.modelCallSettled();
}

/** Calls whose replies are lost, and which another event debits. */
export function recordLostCalls(run: RunParts, lost: { readonly calls: number; readonly why: string }): void {
  const isClosing = (run.state.pausedFrom ?? run.state.phase) === "ForceStop";
  run.pending.record({ kind: "ModelCallLost", at: run.now, ...lost, ...(isClosing && { closing: true as const }) });
}

function recordLost(run: RunParts, lost: { readonly calls: number; readonly why: string }): void {
  const at = run.now;
  recordLostCalls(run, lost);
  // Without its agent a run is charged as its state says.
  const price = run.noticed.price ?? run.state.price ?? NO_PRICE;
  const debit = estimatedCost(run.state, price, lost.calls);
  run.pending.record({ kind: "BudgetDebited", at, debit, for: "lost model calls, estimated" });
}
