/**
 * The gate that asks a human to extend an exhausted budget, as changes of the state. It is a gate like that of a call,
 * with `budget` as its call. Nothing that costs starts while it is open. Used by `transition.ts`, which maps each event
 * to its change.
 */
import { type Limits, addGrant, atMost } from "../../core/policy/budget.ts";
import { withGrants } from "../../core/policy/spending.ts";
import type { Decision, EventOf } from "../../core/event.ts";
import { ensure } from "../../core/ensure.ts";
import { afterCalls } from "../../core/calls/open-calls.ts";
import type { Extension, State } from "../../core/state.ts";

/** The name of the budget's gate. It cannot collide with a call, since those are named `c1`, `c2`, ... */
export const BUDGET = "budget";

const NOTHING_GRANTED: Extension = { questions: 0, granted: {}, gate: null };

export const extensionOf = ({ extension }: Pick<State, "extension">): Extension => extension ?? NOTHING_GRANTED;

/**
 * What the run may spend in all, its children included: the agent's budget, at most the grant of its parent, with what
 * operators granted.
 */
export const limitsInAll = (state: Pick<State, "grant" | "extension">, budget: Limits): Limits =>
  withGrants(atMost(budget, state.grant), extensionOf(state));

/** Opens the gate of the budget. At most one is open at a time. */
export function openBudgetGate(state: State, event: EventOf<"ApprovalRequested">): State {
  const { gate, planHash, argsHash, reason, expiresAt, asksAgainMs, budget } = event;
  const { gate: open, ...extension } = extensionOf(state);
  ensure(budget !== undefined && open === null, "the budget is asked about once at a time");
  const again = asksAgainMs === undefined ? {} : { asksAgainMs };
  const asks = { gate, planHash, argsHash, reason, expiresAt, ...again, decision: null, ...budget };
  return afterCalls({
    ...state,
    retryAt: null,
    extension: { ...extension, questions: extension.questions + 1, gate: asks },
  });
}

/**
 * The run goes on where it was. Without a grant its budget is still exhausted, unless the run ends for another reason.
 */
export function applyBudgetDecision(state: State, { as, more = {} }: Decision): State {
  const { granted, ...rest } = extensionOf(state);
  const now = as === "approve" ? addGrant(granted, more) : granted;
  return afterCalls({ ...state, extension: { ...rest, granted: now, gate: null } });
}
