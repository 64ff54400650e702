/**
 * The closing call: a run that has to stop calls its model once more, without tools. The stop is committed before the
 * call. An invocation that later finds the run stopping with an undebited call therefore knows that the closing call
 * may have left. It debits the call as lost and never repeats it (schedule 65). The outcome of the closing call does
 * not change how the run ends.
 */
import type { Agent } from "../../ports/agent.ts";
import type { RepliedPart } from "../../ports/model.ts";
import { exhaustedMeter } from "../../core/policy/spending.ts";
import { add } from "../../core/policy/budget.ts";
import type { ReplyPart } from "../../core/event.ts";
import { decideRecovery } from "../../core/policy/recovery.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { limitsOf } from "../context/budget-gate.ts";
import { requestModel, debitReply } from "./model-request.ts";
import type { Routing } from "./provider-outage.ts";
import { recordReply } from "./record-reply.ts";
import { withoutFormat } from "./response-format.ts";
import { type Next, goesOn, unlessOutlived } from "../context/next.ts";
import { commitMarkIfNeeded } from "./call-model.ts";
import { debitOtherInvocations, recordOwnCallLost } from "../context/debits.ts";
import { estimatedCost } from "../context/unaccounted-model-calls.ts";

/** Makes the closing call, or records why there is none. */
export async function makeClosingCall(
  run: ActiveRun,
  agent: Agent,
  { model, routed }: Pick<Routing, "model" | "routed">,
): Promise<Next> {
  debitOtherInvocations(run);
  if (run.state.closingCallLost) return speechless(run, "its process ended during the closing call");
  if (run.hasPending) {
    await run.commitPending();
    return "continue";
  }
  if (run.leftMs < run.world.limits.modelMs && run.moved) return "release";
  const over = unaffordable(run, agent);
  if (over !== null) return speechless(run, `the budget does not allow the closing call: with it ${over}`);
  if (await commitMarkIfNeeded(run)) return "continue";
  const { heard, tookMs } = await requestModel(run, withoutFormat(agent), {
    model,
    mayCall: false,
    isForReaders: true,
  });
  if (heard.kind === "silent") {
    recordOwnCallLost(run, heard.why);
    speechless(run, heard.why);
    return heard.by === "drain" ? "release" : unlessOutlived(run.noticed);
  }
  const cut = heard.kind === "failed" ? (heard.cut ?? null) : null;
  if (heard.kind === "failed" && (cut === null || cut.parts.length === 0)) {
    if (heard.isPartial === true) recordOwnCallLost(run, heard.failure.message);
    if (heard.spent !== undefined) debitReply(run, agent, { ...heard.spent, model, isBeat: false });
    return speechless(run, `${heard.failure.code}: ${heard.failure.message}`);
  }
  const isCut = heard.kind === "failed";
  const parts = (isCut ? (cut?.parts ?? []) : heard.parts).flatMap(spoken);
  // The closing call plans nothing, so a run may make it although its beats are used up.
  recordReply(run, withoutFormat(agent), {
    model,
    routed,
    parts,
    finish: isCut ? "length" : heard.finish,
    ...(cut === null ? {} : { cut: { limit: cut.limit, calls: cut.calls } }),
    spent: isCut ? (heard.spent ?? { tokensIn: 0, tokensOut: 0 }) : heard,
    tookMs,
    isBeat: false,
  });
  return goesOn("reply");
}

/** Why the budget has no room for the closing call, or null. The limit on beats does not count here. */
function unaffordable(run: ActiveRun, agent: Agent): string | null {
  const after = add(run.state.spent, estimatedCost(run.state, agent.price));
  return exhaustedMeter(after, { ...limitsOf(run.state, agent), beats: null });
}

/** Records that the run ends without a closing message. */
function speechless(run: ActiveRun, why: string): Next {
  const failure = { code: "NoLastWords", message: why };
  run.record(decideRecovery(run.state, { kind: "speechless", failure }, run.now));
  return "continue";
}

/** The model may propose calls in spite of the request. They are dropped: no tool runs, and no state records them. */
const spoken = (part: RepliedPart): readonly ReplyPart[] =>
  part.kind === "text" || part.kind === "reasoning" ? [part] : [];
