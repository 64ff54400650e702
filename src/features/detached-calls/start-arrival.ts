/**
 * Until when the request that starts a model job may arrive at its provider. A look under its key says nothing before
 * (schedule 195). Where jobs can be looked up, only the invocation that began the job sends this request, and only while
 * it holds its lease.
 */
import type { DetachedCall } from "../../core/detached-call.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/**
 * Epoch milliseconds. That invocation claimed the run before it began the job, so its lease ends at most a beat after that,
 * whether or not the row still knows it. `effectsSettleAt` is later if its beats were longer than they are now.
 */
export function arrivesUntil({ row, world }: Pick<ActiveRun, "row" | "world">, { at }: DetachedCall): number {
  const { beatMs, skewMs, settleMs } = world.limits;
  return Math.max(row.effectsSettleAt, at + beatMs + skewMs) + settleMs;
}
