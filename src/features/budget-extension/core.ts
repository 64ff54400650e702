/**
 * The gate that asks a human to extend an exhausted budget, as changes of the state. It is a gate like that of a
 * call, with `budget` as its call. Nothing that costs starts while it is open.
 */
import { extensionOf } from "../../core/policy/extension.ts";
import { addGrant } from "../../core/policy/budget.ts";
import type { HumanDecision } from "../../core/approval.ts";
import type { EventOf } from "../../core/event.ts";
import { ensure } from "../../core/ensure.ts";
import { afterCalls } from "../../core/calls/open-calls.ts";
import type { State } from "../../core/state.ts";

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
export function applyBudgetDecision(state: State, { as, more = {} }: HumanDecision): State {
  const { granted, ...rest } = extensionOf(state);
  const now = as === "approve" ? addGrant(granted, more) : granted;
  return afterCalls({ ...state, extension: { ...rest, granted: now, gate: null } });
}
