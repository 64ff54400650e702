/**
 * Gates: a person decides about a call before it is started. What is decided is frozen by its hashes (seed 3), the first
 * decision counts, and none in time is a denial.
 */
import type { Decision } from "../../core/event.ts";
import { BUDGET, gateNamed } from "../../core/policy/extension.ts";
import { ensure } from "../../core/ensure.ts";
import type { Gate } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { endFor } from "../context/budget-gate.ts";
import { absorbInbox } from "../context/inbox.ts";
import type { Next } from "../context/next.ts";

/** Applies the decision that was absorbed. */
export function applyDecision(run: ActiveRun, call: string): Next {
  const gate = gateOf(run, call);
  ensure(gate.decision !== null, `gate ${gate.gate} has no decision`);
  return record(run, { call, gate, decision: gate.decision });
}

/**
 * Schedule 13: a timer wakes the run, a decision is acknowledged, the denial by expiry commits over it. A decision in
 * the inbox beats the clock, and the denial commits only while nobody stirred the run since the inbox was read.
 */
export async function expireGate(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const gate = gateOf(run, call);
  if (gate.decision !== null || !isAll) return "on";
  const before = run.mark();
  const note = "nobody decided in time";
  record(run, { call, gate, decision: { as: "deny", args: null, by: "expiry", note } });
  const outcome = await run.commit({ release: false, unlessStirred: true });
  if (outcome === "stirred") run.restore(before);
  return "on";
}

function record(run: ActiveRun, of: { call: string; gate: Gate; decision: Decision }): Next {
  const { call, gate, decision } = of;
  run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call, decision });
  // Durable before the model is asked: whoever finds the run has to find it where it may have asked (schedule 66).
  run.noticed.requireCommit();
  if (call === BUDGET && decision.as === "deny") run.record(endFor(run, gate.reason));
  return "on";
}

function gateOf(run: ActiveRun, call: string): Gate {
  const gate = gateNamed(run.state, call);
  ensure(gate !== null, `${call} waits at no gate`);
  return gate;
}
