/**
 * Gates of calls as changes of the state: a human decides about a call before its release. The gate of the budget is
 * in `features/budget-extension/core.ts`.
 */
import { withOpen, afterCalls, settleCall, updateCall } from "../../core/calls/open-calls.ts";
import type { EventRows } from "../../core/features.ts";
import type { ApprovalEvents, Gate } from "../../core/approval.ts";
import type { MessageBody, EventOf } from "../../core/event.ts";
import type { GateCommand } from "../../core/commands.ts";
import { BUDGET, extensionOf } from "../../core/policy/extension.ts";
import { ensure } from "../../core/ensure.ts";
import { inline } from "../../core/message.ts";
import { applyBudgetDecision, openBudgetGate } from "../budget-extension/core.ts";
import type { State } from "../../core/state.ts";
import { isHeld, withoutHold, gateIn } from "../../core/calls/held-calls.ts";

/** The gate of this call, or of the budget; null if there is none. */
export function gateNamed(state: State, call: string): Gate | null {
  if (call === BUDGET) return extensionOf(state).gate;
  const open = state.open.find((each) => each.call === call);
  return open === undefined ? null : gateIn(open);
}

/** The first decision that came, or the first gate that expired. `earliest`: a time that every clock has reached. */
export function gatesOwed(state: State, earliest: number): readonly GateCommand[] {
  const calls = [...state.open.filter(isHeld).map(({ call }) => call), BUDGET];
  const gates = calls.flatMap((call) => {
    const gate = gateNamed(state, call);
    return gate === null ? [] : [{ call, gate }];
  });
  const decided = gates.find(({ gate }) => gate.decision !== null);
  if (decided !== undefined) return [{ kind: "decide", call: decided.call }];
  const expired = gates.find(({ gate }) => earliest >= gate.expiresAt);
  return expired === undefined ? [] : [{ kind: "expireGate", call: expired.call }];
}

function openGate(state: State, event: EventOf<"ApprovalRequested">): State {
  const { gate, call, planHash, argsHash, reason, expiresAt, asksAgainMs, timesReopened, restored } = event;
  if (call === BUDGET) return openBudgetGate(state, event);
  return afterCalls(
    updateCall(state, call, (open) => {
      const isAgain = open.status === "permitted" && timesReopened !== undefined;
      ensure(open.intent !== null && (open.status === "proposed" || isAgain), `call ${call} is not intended`);
      const again = { ...(asksAgainMs !== undefined && { asksAgainMs }), ...(restored !== undefined && { restored }) };
      const asked = { by: "gate", gate, planHash, argsHash, reason, expiresAt, ...again, decision: null } as const;
      // A human who is asked again sees the model's arguments.
      return { ...open, status: "gated", heldBy: asked, ...(isAgain ? { edited: null, timesReopened } : {}) };
    }),
  );
}

function closeGate(state: State, { gate, call, decision, at }: EventOf<"HumanApprovalReceived">): State {
  const { as, args, by, note } = decision;
  ensure(gateNamed(state, call)?.gate === gate, `call ${call} does not wait at gate ${gate}`);
  if (call === BUDGET) return applyBudgetDecision(state, decision);
  if (as === "deny") {
    const said = inline(note === null ? `denied by ${by}` : `denied by ${by}: ${note}`);
    return settleCall(state, call, { outcome: "failed", value: said, at });
  }
  return afterCalls(
    updateCall(state, call, (open) => ({
      ...withoutHold(open),
      status: "permitted",
      edited: as === "edit" ? args : null,
    })),
  );
}

/** Closes a gate that expired without a decision, or that is from before a restore, so that a human is asked anew. */
export function reopenGate(
  state: State,
  { call, gate, restored }: { readonly call: string; readonly gate: string; readonly restored?: number },
): State {
  const open = gateNamed(state, call);
  ensure(open?.gate === gate && open.decision === null, `call ${call} does not wait at gate ${gate}`);
  ensure(open.asksAgainMs !== undefined || restored !== undefined, `gate ${gate} is denied when it expires`);
  if (call === BUDGET) return applyBudgetDecision(state, { as: "deny", args: null, by: "expiry", note: null });
  return afterCalls(
    updateCall(state, call, (each) => ({
      ...withoutHold(each),
      status: "proposed",
      timesReopened: (each.timesReopened ?? 0) + 1,
    })),
  );
}

/** The events of this feature: in which phases each may happen, and what it changes. */
export const APPROVAL_EVENTS: EventRows<keyof ApprovalEvents> = {
  // Also where the run waits: the intent of a call that runs alone may leave it nothing to do but to wait for others.
  ApprovalRequested: {
    in: ["ExecutingTools", "AwaitingApproval", "AwaitingChildren", "AwaitingLLM", "RetryingLLM", "Compacting"],
    apply: openGate,
  },
  HumanApprovalReceived: { in: ["ExecutingTools", "AwaitingApproval", "AwaitingReconcile"], apply: closeGate },
  DecisionIgnored: { in: "live", apply: (state, { kind: _, ...ignoredDecision }) => ({ ...state, ignoredDecision }) },
};

type DecisionGiven = Extract<MessageBody, { readonly kind: "decision" }>;

/** The first decision about a gate counts. A call and the budget have gates. */
export function takeDecision(state: State, body: DecisionGiven): State {
  const { gate, decision } = body;
  return withOpen(
    withBudgetDecision(state, body),
    ({ heldBy }) => heldBy?.by === "gate" && heldBy.gate === gate && heldBy.decision === null,
    (open) => (open.heldBy?.by === "gate" ? { ...open, heldBy: { ...open.heldBy, decision } } : open),
  );
}

function withBudgetDecision(state: State, body: DecisionGiven): State {
  const { extension } = state;
  const gate = extension?.gate ?? null;
  if (extension === undefined || gate?.gate !== body.gate || gate.decision !== null) return state;
  return { ...state, extension: { ...extension, gate: { ...gate, decision: body.decision } } };
}
