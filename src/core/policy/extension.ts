/**
 * An exhausted budget that a person is asked to extend, as changes of the state. It is a gate like that of a call and
 * goes by the name `budget` where that one has its call's; nothing that costs is begun while it is open. Used by
 * `transition.ts`, which says which event makes which change.
 */
import { addGrant } from "./budget.ts";
import type { Decision, EventOf } from "../event.ts";
import { ensure } from "../ensure.ts";
import { afterCalls } from "../calls/open-calls.ts";
import type { Extension, Gate, State } from "../state.ts";

/** Calls are named `c1`, `c2`, ...; this is none. */
export const BUDGET = "budget";

const NOTHING_GRANTED: Extension = { asked: 0, granted: {}, gate: null };

export const extensionOf = ({ extension }: State): Extension => extension ?? NOTHING_GRANTED;

/** The gate of that call, or of the budget. */
export const gateNamed = (state: State, call: string): Gate | null =>
  call === BUDGET ? extensionOf(state).gate : (state.open.find((open) => open.call === call)?.gate ?? null);

export function askedForMore(state: State, event: EventOf<"ApprovalRequested">): State {
  const { gate, planHash, argsHash, reason, expiresAt, budget } = event;
  const { gate: open, ...extension } = extensionOf(state);
  ensure(budget !== undefined && open === null, "the budget is asked about once at a time");
  const asks = { gate, planHash, argsHash, reason, expiresAt, decision: null, ...budget };
  return afterCalls({ ...state, retryAt: null, extension: { ...extension, asked: extension.asked + 1, gate: asks } });
}

/** The run goes on where it was; one that got nothing finds its budget as it was, unless its end is decided besides. */
export function decidedAboutMore(state: State, { as, more = {} }: Decision): State {
  const { granted, ...rest } = extensionOf(state);
  const now = as === "approve" ? addGrant(granted, more) : granted;
  return afterCalls({ ...state, extension: { ...rest, granted: now, gate: null } });
}
