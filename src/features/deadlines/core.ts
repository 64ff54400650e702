/**
 * The deadline of a run, as its agent declares it (`defineAgent({ deadline })`). It is fixed at the start of the run. So
 * no resume, restart, redrive or later version of the agent gets more time (schedule 134).
 */
import { DEADLINE_EXPIRED } from "../../core/policy/ending.ts";
import type { EventOf } from "../../core/event.ts";
import type { State } from "../../core/state.ts";

/** The decision when that time has come: first the end, then an end without whatever is still to be undone. */
export function decideExpiry(state: State, now: number): EventOf<"RecoveryDecided"> {
  const { deadline, ending, undo = [] } = state;
  if (ending?.kind !== "failed") {
    const message = "its deadline passed before it was done";
    const next = deadline?.onExpiry === "undo" ? ("end" as const) : ("leave" as const);
    const action = { kind: "abort", failure: { code: DEADLINE_EXPIRED, message }, next } as const;
    return {
      kind: "RecoveryDecided",
      at: now,
      rule: "its deadline passed",
      why: `${DEADLINE_EXPIRED}: ${message}`,
      action,
    };
  }
  const left = undo.map(({ call }) => call).join(", ");
  const why = left === "" ? "its children did not end in time" : `these were not undone in time: ${left}`;
  const failure = { code: DEADLINE_EXPIRED, message: `${ending.failure.message}; ${why}` };
  const action = { kind: "abort", failure, next: "leave", forced: true } as const;
  return { kind: "RecoveryDecided", at: now, rule: "its deadline passed, and its end took too long", why, action };
}
