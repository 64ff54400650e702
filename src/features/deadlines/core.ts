/**
 * The deadline of a run, as its agent declares it (`defineAgent({ deadline })`). It is fixed at the start of the run. So
 * no resume, restart, redrive or later version of the agent gets more time (schedule 134).
 */
import { nextCompensationStep } from "../saga/core.ts";
import { waitsForChildren } from "../children/core.ts";
import type { EventOf } from "../../core/event.ts";
import type { State } from "../../core/state.ts";

/** The failure code of a run whose deadline has passed. */
const CODE = "DeadlineExpired";

/** The end of this run is decided, because its deadline has passed. */
export const isExpired = ({ ending }: State): boolean => ending?.kind === "failed" && ending.failure.code === CODE;

/**
 * When the deadline of the run ends what it does now; null: never. A run that must stop already makes its closing call.
 * An end that was decided for another reason keeps its own course.
 */
export function expiresAt(state: State): number | null {
  const { deadline, ending, phase, pausedFrom } = state;
  if (deadline === undefined || (pausedFrom ?? phase) === "ForceStop") return null;
  if (ending === null) return deadline.at;
  const isAtWork = nextCompensationStep(state) !== null || (ending.forced !== true && waitsForChildren(state));
  return isExpired(state) && isAtWork ? deadline.endBy : null;
}

/** The decision when that time has come: first the end, then an end without whatever is still to be undone. */
export function decideExpiry(state: State, now: number): EventOf<"RecoveryDecided"> {
  const { deadline, ending, undo = [] } = state;
  if (ending?.kind !== "failed") {
    const message = "its deadline passed before it was done";
    const next = deadline?.onExpiry === "undo" ? ("end" as const) : ("leave" as const);
    const action = { kind: "abort", failure: { code: CODE, message }, next } as const;
    return { kind: "RecoveryDecided", at: now, rule: "its deadline passed", why: `${CODE}: ${message}`, action };
  }
  const left = undo.map(({ call }) => call).join(", ");
  const why = left === "" ? "its children did not end in time" : `these were not undone in time: ${left}`;
  const failure = { code: CODE, message: `${ending.failure.message}; ${why}` };
  const action = { kind: "abort", failure, next: "leave", forced: true } as const;
  return { kind: "RecoveryDecided", at: now, rule: "its deadline passed, and its end took too long", why, action };
}
