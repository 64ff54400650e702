/**
 * Gates: a human decides about a call before it starts. The hashes of the gate freeze what is decided. The first
 * decision counts. A gate that expires is a denial, or asks again where its agent says so.
 */
import { BUDGET, extensionOf } from "../../core/policy/extension.ts";
import type { Gate, HumanDecision } from "../../core/approval.ts";
import { gateNamed } from "./core.ts";
import { ensure } from "../../core/ensure.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { endOverBudget, question } from "../../engine/context/budget-gate.ts";
import { absorbInbox } from "../../engine/context/inbox.ts";
import { gateId } from "../../protocol/ids.ts";
import type { Next } from "../../engine/context/next.ts";
import { openCall } from "../../engine/tools/tools.ts";

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
  if (gate.asksAgainMs === undefined) {
    record(run, { call, gate, decision: { as: "deny", args: null, by: "expiry", note } });
  } else {
    askAgain(run, { call, gate, asksAgainMs: gate.asksAgainMs, why: note });
  }
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

/**
 * Asks a human again about the same plan and arguments, under another gate. The approval policy is not asked: it could
 * say now that none is needed, and the call would start without one. The commit moves the time at which the run expires.
 */
function askAgain(
  run: ActiveRun,
  {
    call,
    gate,
    asksAgainMs,
    why,
  }: { readonly call: string; readonly gate: Gate; readonly asksAgainMs: number; readonly why: string },
): void {
  const at = run.now;
  const budget = extensionOf(run.state).gate;
  const action = { kind: "askAgain", call, gate: gate.gate } as const;
  run.record({ kind: "RecoveryDecided", at, rule: "approval expired, asked again", why, action });
  run.pending.requireCommit();
  const terms = { expiresAt: at + asksAgainMs, asksAgainMs };
  if (call === BUDGET && budget !== null) {
    run.record(question(run, { over: budget.reason, limits: budget.limits, calls: budget.calls, terms }));
    return;
  }
  const { planHash, argsHash, reason } = gate;
  const { timesReopened: again = 0 } = openCall(run, call);
  const name = gateId(run.world.hash, { attempt: run.state.restart, call, planHash, argsHash, again });
  const asks = { gate: name, call, planHash, argsHash, reason, ...terms, timesReopened: again };
  run.record({ kind: "ApprovalRequested", at, ...asks });
}

/** Records the decision. A denied budget ends the run in the same commit. */
function record(run: ActiveRun, { call, gate, decision }: { call: string; gate: Gate; decision: HumanDecision }): Next {
  run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call, decision });
  // The decision has to be durable before the model is called. The next invocation must find the run in a phase in
  // which the model may have been called (schedule 66).
  run.pending.requireCommit();
  if (call === BUDGET && decision.as === "deny") run.record(endOverBudget(run, gate.reason));
  return "continue";
}

function gateOf(run: ActiveRun, call: string): Gate {
  const gate = gateNamed(run.state, call);
  ensure(gate !== null, `${call} waits at no gate`);
  return gate;
}
