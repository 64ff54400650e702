/**
 * Jobs of asynchronous models whose requests have not left. Only the invocation that began a job may send its request, so
 * the next one could not tell such a job from one whose start was lost: it would look for it, or debit it.
 */
import type { DetachedCall } from "../../core/detached-call.ts";
import { detachedOut } from "./core.ts";
import type { RunParts } from "../../engine/context/run-parts.ts";

/** Only the invocation that began the job may send its request, and it knows whether it did. */
export const isUnsent = ({ row, noticed }: RunParts, { key, epoch, reference }: DetachedCall): boolean =>
  reference === undefined && epoch === row.epoch && !noticed.knows("begun", key);

/** The run is released before the request of its job left, for example because its process was asked to end. */
export function endUnsent(run: RunParts): void {
  const call = detachedOut(run.state);
  if (call === undefined || !isUnsent(run, call)) return;
  const why = "the run was released before its request left";
  run.pending.record({ kind: "DetachedCallEnded", at: run.now, key: call.key, how: "unsent", why });
  run.pending.noteTextsLeft();
}

/**
 * The run ends while its job is out, and this process has no agent that could ask its provider to cancel it: the sweeper
 * ends runs whose processes died too often, or whose deadline passed. The job is debited at its estimate.
 */
export function endWithRun(run: RunParts): void {
  const call = detachedOut(run.state);
  if (call === undefined) return;
  const why = "the run ended, and its provider could not be asked to cancel it";
  const debit = { debit: call.reserved, for: "a model job without a reply, estimated" };
  run.pending.record({ kind: "BudgetDebited", at: run.now, ...debit });
  run.pending.record({ kind: "DetachedCallEnded", at: run.now, key: call.key, how: "cancelled", why });
}
