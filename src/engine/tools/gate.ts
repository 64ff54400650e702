/**
 * Gates: a human decides about a call before it starts. The hashes of the gate freeze what is decided (seed 3:
 * approvals). The first decision counts. A gate that expires is a denial.
 */
import type { Decision } from "../../core/event.ts";
import { gateNamed } from "../../core/calls/gates.ts";
import { BUDGET } from "../../core/policy/extension.ts";
import { ensure } from "../../core/ensure.ts";
import type { Gate } from "../../core/held-by.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { endOverBudget } from "../context/budget-gate.ts";
import { absorbInbox } from "../context/inbox.ts";
import type { Next } from "../context/next.ts";

/** Applies the decision that the run has absorbed. */
export function applyDecision(run: ActiveRun, call: string): Next {
  const gate = gateOf(run, call);
  ensure(gate.decision !== null, `gate ${gate.gate} has no decision`);
  return record(run, { call, gate, decision: gate.decision });
}

/**
 * Denies a gate that has expired. Schedule 13: a timer wakes the run, a decision is acknowledged, and the denial by
 * expiry commits over it. So a decision in the inbox wins over the expiry, and the denial is conditional on the wake-up
 * counter.
 */
export async function expireGate(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const gate = gateOf(run, call);
  if (gate.decision !== null || !isAll) return "continue";
  const before = run.mark();
  const note = "no decision before the gate expired";
  record(run, { call, gate, decision: { as: "deny", args: null, by: "expiry", note } });
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

/** Records the decision. A denied budget ends the run in the same commit. */
function record(run: ActiveRun, of: { call: string; gate: Gate; decision: Decision }): Next {
  const { call, gate, decision } = of;
  run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call, decision });
  // The decision has to be durable before the model is called. The next invocation must find the run in a phase in
  // which the model may have been called (schedule 66).
  run.noticed.requireCommit();
  if (call === BUDGET && decision.as === "deny") run.record(endOverBudget(run, gate.reason));
  return "continue";
}

function gateOf(run: ActiveRun, call: string): Gate {
  const gate = gateNamed(run.state, call);
  ensure(gate !== null, `${call} waits at no gate`);
  return gate;
}
