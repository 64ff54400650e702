/**
 * Redriving: a run that failed for a reason of infrastructure goes on from where it stood, when an operator says so. It is
 * the one way out of an end, and only an end that knows where the run stood has it. Used by `transition.ts`.
 */
import type { EventOf, FailedFrom } from "../event.ts";
import { isOfInfrastructure } from "./infrastructure.ts";
import { ensure } from "../ensure.ts";
import { afterCalls } from "../calls/open-calls.ts";
import type { Gate, OpenCall, State } from "../state.ts";

/** What the event of an end says besides; null for an end that stays. */
export function failedFrom(state: State): FailedFrom | null {
  const { ending, saga, open } = state;
  if (ending?.kind !== "failed" || !isOfInfrastructure(ending.failure) || saga !== undefined) return null;
  const started = open.flatMap(({ call, status }) => (status === "started" ? [call] : []));
  return { phase: state.pausedFrom ?? state.phase, started };
}

export type RedriveRefusal = "NotInfrastructure" | "Compensated" | "HasChildren" | "EndedBefore";

/** Why the state cannot go on; null if it can. */
export function redriveRefusal({ failure, saga, children, failedFrom: from }: State): RedriveRefusal | null {
  if (failure === null || !isOfInfrastructure(failure)) return "NotInfrastructure";
  if (saga !== undefined) return "Compensated";
  if (children.length > 0) return "HasChildren";
  return from === undefined ? "EndedBefore" : null;
}

/**
 * The same calls, keys and budget. What a process may have begun is decided by the resume table, as after any death. What
 * somebody decided and the end did not apply was said to come to nothing, so that is asked about anew; and so is what nobody
 * could decide in time, since the run had ended.
 */
export function redriven(state: State, { id, at }: EventOf<"RunRedriven">): State {
  const { failedFrom: from, outage: _, ...rest } = state;
  ensure(from !== undefined && redriveRefusal(state) === null, "this end has no way out");
  const isClosed = (gate: Gate | null): boolean => gate !== null && (gate.decision !== null || gate.expiresAt <= at);
  const again = (call: OpenCall): OpenCall => {
    if (isClosed(call.gate)) {
      return { ...call, status: "proposed", gate: null, askedAgain: (call.askedAgain ?? 0) + 1 };
    }
    const mayHaveBegun = from.started.includes(call.call) && call.status === "unknown";
    return mayHaveBegun ? { ...call, status: "started", askFrom: null } : call;
  };
  const { extension } = rest;
  const times = (state.redriven?.times ?? 0) + 1;
  const back: State = {
    ...rest,
    phase: from.phase,
    failure: null,
    modelRetries: 0,
    redriven: { ...state.redriven, times, id },
    open: state.open.map(again),
    ...(extension !== undefined && isClosed(extension.gate) ? { extension: { ...extension, gate: null } } : {}),
  };
  return back.open.length === 0 && from.phase !== "AwaitingApproval" ? back : afterCalls(back);
}
