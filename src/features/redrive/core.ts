/**
 * Redriving: a run that failed for a reason of infrastructure goes on where it stood, on an operator's request. It is
 * the only way out of an end, and only for an end that recorded where the run stood.
 */
import type { EventRows } from "../../core/features.ts";
import type { RedriveEvents, EventOf } from "../../core/event.ts";
import { isInfrastructureFailure } from "../../core/policy/infrastructure.ts";
import { ensure } from "../../core/ensure.ts";
import { afterCalls } from "../../core/calls/open-calls.ts";
import { heldAgain, isGateClosed } from "../../core/calls/held-calls.ts";
import type { OpenCall, State } from "../../core/state.ts";

/** Why a run may not be redriven. */
export type RedriveRefusal = "NotInfrastructure" | "Compensated" | "HasChildren";

/** Why the run cannot be redriven; null if it can. */
export function redriveRefusal({ failure, saga, children, failedFrom: from }: State): RedriveRefusal | null {
  if (failure === null || !isInfrastructureFailure(failure)) return "NotInfrastructure";
  if (saga !== undefined || from === undefined) return "Compensated";
  return children.length > 0 ? "HasChildren" : null;
}

/**
 * The redriven state keeps calls, idempotency keys and budget. The effect table decides about calls that a process may
 * have started, as after any death. What holds a call is asked for anew where that is needed (`calls/held-calls.ts`).
 */
export function applyRedrive(state: State, { id, at }: EventOf<"RunRedriven">): State {
  const { failedFrom: from, outage: _, failedSummaries: _summaries, ...rest } = state;
  ensure(from !== undefined && redriveRefusal(state) === null, "this end has no way out");
  const again = (call: OpenCall): OpenCall => {
    const mayHaveBegun = from.started.includes(call.call) && call.status === "unknown";
    return mayHaveBegun ? { ...call, status: "started", reconcilableFrom: null } : heldAgain(call, at);
  };
  const { extension } = rest;
  const asks = extension?.gate ?? null;
  const times = (state.redriven?.times ?? 0) + 1;
  const back: State = {
    ...rest,
    phase: from.phase,
    failure: null,
    modelRetries: 0,
    redriven: { ...state.redriven, times, id },
    open: state.open.map(again),
    ...(extension !== undefined && asks !== null && isGateClosed(asks, at)
      ? { extension: { ...extension, gate: null } }
      : {}),
  };
  return back.open.length === 0 && from.phase !== "AwaitingApproval" ? back : afterCalls(back);
}

/** The events of this feature: in which phases each may happen, and what it changes. */
export const REDRIVE_EVENTS: EventRows<keyof RedriveEvents> = {
  RunRedriven: { in: ["Failed"], apply: applyRedrive },
};
