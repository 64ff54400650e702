/** The operator of a history who hears that its spend cap is reached, and raises it some time later. */
import type { Limits } from "../../../src/protocol/limits.ts";
import type { Sim } from "../sim.ts";

/** The limits as a process reads them now. */
export const limitsWithCap = ({ world, plan, features }: Sim): Limits =>
  plan.features.cap === null
    ? world.limits
    : { ...world.limits, spendMicroUsdPerDay: features.capRaised < Infinity ? RAISED : plan.features.cap.microUsd };

/** More than any history spends. */
const RAISED = 1e12;

/** A run says that the cap is reached: the operator raises it in their own time. */
export function noticeCap({ plan, features: log, clock, record }: Sim): void {
  if (plan.features.cap === null || log.isCapNoticed) return;
  log.isCapNoticed = true;
  clock.after(plan.features.cap.raisedAfterMs, () => {
    log.capRaised = Math.min(log.capRaised, record.order);
    record.note("operator", "raises the cap");
  });
}
