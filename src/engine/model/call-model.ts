/** Calls the model once and records its reply and its cost, or what follows from a failure. */
import type { Agent } from "../../ports/agent.ts";
import type { CutReply, Model, ModelFailed, RepliedPart } from "../../ports/model.ts";
import type { RequestDigests } from "../../core/request-digests.ts";
import type { ReplyPart } from "../../core/event.ts";
import { NEXT_MESSAGE, withNextMessage } from "../../core/calls/next-message.ts";
import { BOUNDS } from "../../core/limits.ts";
import { type Loop, type LoopRules, findLoop } from "../../core/policy/loops.ts";
import { isCutTooOften } from "../../core/policy/cuts-in-a-row.ts";
import { heldTexts, isModelOut } from "../../core/policy/model-out.ts";
import { type Trouble, decideRecovery } from "../../core/policy/recovery.ts";
import { messagesOfSection } from "../../core/policy/window.ts";
import { putFiles } from "../../history/files.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { type Heard, requestModel, debitReply } from "./model-request.ts";
import { signalCrack } from "../context/signal-crack.ts";
import { hasBudget } from "../context/budget-gate.ts";
import { detectContradiction } from "./contradictions.ts";
import { beginDetached } from "../../features/detached-calls/begin.ts";
import { reasonToCompact } from "../../features/compaction/trigger.ts";
import { type Routing, recordModelFailure, waitForOperator } from "./provider-outage.ts";
import { recordReply } from "./record-reply.ts";
import { compactionRangeOf } from "../../features/compaction/range.ts";
import { toolNamed } from "../tools/tools.ts";
import { recordable } from "../tools/recordable.ts";
import { debitOtherInvocations, recordOwnCallLost, recordLostCalls } from "../context/debits.ts";
import { type Next, type StepOutcome, goesOn, unlessOutlived } from "../context/next.ts";

/**
 * Calls the model if the budget, the time and the transcript allow it. Otherwise records why not, or releases the run.
 * `summarise`: makes the summary of a result that is due before the call; null: none is.
 */
export async function callModel(
  run: ActiveRun,
  agent: Agent,
  {
    model,
    routed,
    summarise,
  }: Pick<Routing, "model" | "routed"> & { readonly summarise: (() => Promise<Next>) | null },
): Promise<Next> {
  debitOtherInvocations(run);
  if (!hasBudget(run, agent)) return "continue";
  const trouble = await reasonNotToAsk(run, agent);
  if (trouble === "moved") return "continue";
  if (trouble !== null) {
    run.record(decideRecovery(run.state, trouble, run.now));
    return "continue";
  }
  if (summarise !== null) return summarise();
  if (model.detached !== undefined) return beginDetached(run, agent, { model, routed });
  const { modelMs } = run.world.limits;
  if (run.leftMs < modelMs && run.moved) return "release";
  if (await commitMarkIfNeeded(run)) return "continue";
  const { heard, tookMs } = await requestModel(run, agent, { model, mayCall: true, isForReaders: true });
  return absorbReply(run, agent, { model, routed, heard, tookMs });
}

/**
 * Makes a mark for the next model call if this epoch has none left. A mark is durable before its call leaves, so that a
 * lost call is debited (`unaccounted-model-calls.ts`). One that was made while a job was out counts nothing. Returns true
 * if it committed. The commit may bring news, such as a cancel, so the caller decides again.
 */
export async function commitMarkIfNeeded(run: ActiveRun): Promise<boolean> {
  const isUsable = !isModelOut(run.committed.state);
  if (run.pending.modelCalls.own === "marked" && isUsable) return false;
  await run.commitPending();
  return true;
}

/**
 * Why the model is not called now, or null. Loops are searched in all messages of the section, and contradictions in all
 * since the last restart, because a summary may hide them.
 */
async function reasonNotToAsk(run: ActiveRun, agent: Agent): Promise<Trouble | "moved" | null> {
  const isWatched = agent.loops !== "ignore";
  const loop = isWatched ? findLoop(messagesOfSection(run.state), loopRulesOf(agent)) : null;
  if (loop === null) return (isWatched ? await detectContradiction(run, agent) : null) ?? reasonToCompact(run, agent);
  const { crack, why } = loop;
  signalCrack(run, crack, why);
  return { kind: "loop", failure: { code: CODES[crack], message: why } };
}

/** What the agent and its tools declare about repetitions. */
function loopRulesOf({ loops, tools }: Agent): LoopRules {
  return {
    failures: typeof loops === "object" ? loops.failures : BOUNDS.loopFailures,
    isExpected: (tool) => tools[tool]?.loops === "ignore",
    asksHuman: (tool) => (tools[tool]?.approval ?? "never") !== "never",
  };
}

const CODES: { readonly [C in Loop["crack"]]: string } = { runaway: "Runaway", oscillation: "Oscillation" };

/** A model call that is over. `request`: what it contained, if the agent may have changed since. */
interface Answering extends Pick<Routing, "model" | "routed"> {
  readonly tookMs: number;
  readonly request?: RequestDigests;
}

/** Records what came back from a model call. */
export async function absorbReply(
  run: ActiveRun,
  agent: Agent,
  asked: Answering & { readonly heard: Heard },
): Promise<Next> {
  const { model, heard } = asked;
  if (heard.kind === "silent") return absorbSilence(run, agent, heard);
  if (heard.kind === "failed" && heard.cut !== undefined) {
    return absorbCut(run, agent, { ...asked, failed: heard, cut: heard.cut });
  }
  if (heard.kind === "failed") return recordFailure(run, agent, { model, failed: heard });
  const kept = await keptParts(run, agent, { model, heard });
  const parts = agent.tools[NEXT_MESSAGE] === undefined ? kept : withNextMessage(kept);
  // A text that a job held back follows the reply, so the model is asked again in any case.
  const isAnswered = heldTexts(run.state).length > 0;
  recordReply(run, agent, { ...asked, parts, finish: heard.finish, spent: heard, isBeat: true });
  if (run.state.phase === "AwaitingLLM" && !isAnswered) {
    const failure = { code: "EmptyReply", message: "the model answered with neither words nor calls" };
    const say = "Your last reply was empty. Call a tool, or answer in words if you are done.";
    run.record(decideRecovery(run.state, { kind: "reply", failure, say }, run.now));
  }
  return goesOn("reply");
}

/**
 * Records a reply that a limit cut, and tells the model. If the next reply would be cut, too, the run waits for an
 * operator: each of them is paid for.
 */
function absorbCut(
  run: ActiveRun,
  agent: Agent,
  ended: Answering & { readonly failed: ModelFailed; readonly cut: CutReply },
): Next {
  const { failed, cut } = ended;
  const { failure, spent = NO_TOKENS } = failed;
  const { limit, calls, parts } = cut;
  recordReply(run, agent, { ...ended, parts, finish: "length", cut: { limit, calls }, spent, isBeat: true });
  const at = run.now;
  run.record(decideRecovery(run.state, { kind: "cut", failure, say: goOnWords(cut) }, at));
  if (!isCutTooOften(run.state)) {
    // A context that is full leaves no room for the next reply either.
    const shortens = /context/i.test(limit) && compactionRangeOf(run.state) !== null;
    const full = { code: "ContextTooLong", message: failure.message };
    if (shortens) run.record(decideRecovery(run.state, { kind: "model", failure: full, retry: null, shortens }, at));
    return goesOn("reply");
  }
  const { cutReplies: times = 0 } = run.state;
  const message =
    `${times} replies in a row were cut by their limit of tokens (${limit}): set modelOptions.maxOutputTokens ` +
    "of the agent higher, or its reasoning lower, or give it smaller steps; then resume the run";
  const blocked = { code: failure.code, message };
  run.record(decideRecovery(run.state, { kind: "cuts", failure: blocked }, at));
  return goesOn("reply", ...waitForOperator(run, blocked).saw);
}

const NO_TOKENS = { tokensIn: 0, tokensOut: 0 };

/** What the model is told after its reply was cut. */
function goOnWords({ limit, calls, parts }: CutReply): string {
  const lead = `Your last reply was cut by its limit of tokens (${limit})`;
  if (calls > 0)
    return `${lead} while you wrote calls. None of them ran. Ask again for what you need, with shorter arguments or fewer calls.`;
  if (parts.length === 0) return `${lead} and was not taken. Answer again, whole and shorter, with less reasoning.`;
  return `${lead}. What you wrote is kept. Go on exactly where it stops, and repeat nothing.`;
}

/** Records a model call without a reply: its cost, and what follows from the timeout. */
export function absorbSilence(
  run: ActiveRun,
  agent: Agent,
  { by, why }: Extract<Heard, { readonly kind: "silent" }>,
): Next {
  recordOwnCallLost(run, why);
  if (by === "drain") return "release";
  if (by === "watchdog") {
    const failure = { code: "HardIdleTimeout", message: why };
    run.record(decideRecovery(run.state, { kind: "idle", failure }, run.now));
    return unlessOutlived(run.noticed);
  }
  const failure = { code: "ModelTimedOut", message: why };
  const { saw } = recordModelFailure(run, agent, { failure, retryable: true, retryAfterMs: null });
  return unlessOutlived(run.noticed, ...saw);
}

/** Records a failed model call, with its cost if there was a reply. */
export function recordFailure(
  run: ActiveRun,
  agent: Agent,
  { model, failed }: { readonly model: Model; readonly failed: ModelFailed },
): StepOutcome {
  const at = run.now;
  const { failure, spent } = failed;
  if (failed.isPartial === true) recordOwnCallLost(run, failure.message);
  if (spent === undefined) {
    const mayBeTooLong = failure.code === "ContextTooLong" || failed.refusal === "request";
    const shortens = mayBeTooLong && compactionRangeOf(run.state) !== null;
    return recordModelFailure(run, agent, { ...failed, shortens });
  }
  // There was a reply, and it was paid for. The model is told what is wrong with it.
  debitReply(run, agent, { ...spent, model, isBeat: true });
  const say = `Your last reply was not taken: ${failure.message}.`;
  run.record(decideRecovery(run.state, { kind: "reply", failure, say }, at));
  return goesOn("reply");
}

/**
 * Stores the parts of the reply. If a store does not accept them, the reply is lost, and its known cost is debited. That
 * of a job is not lost: it is read again, and debited then (schedule 199).
 */
async function keptParts(
  run: ActiveRun,
  agent: Agent,
  { model, heard }: { readonly model: Model; readonly heard: Extract<Heard, { readonly kind: "reply" }> },
): Promise<readonly ReplyPart[]> {
  try {
    return await Promise.all(heard.parts.map((part) => keepPart(run, agent, part)));
  } catch (error) {
    if (isModelOut(run.state)) throw error;
    recordLostCalls(run, { calls: 1, why: "its reply could not be stored" });
    debitReply(run, agent, { ...heard, model, isBeat: true });
    throw error;
  }
}

async function keepPart(run: ActiveRun, agent: Agent, part: RepliedPart): Promise<ReplyPart> {
  if (part.kind === "badCall") {
    // The text stays as it came. No tool's schema accepts bare text, so the call is refused and the model is told.
    return { kind: "call", tool: part.tool, args: await run.keep(part.raw), provider: null };
  }
  if (part.kind === "file") {
    await putFiles(run.world.objects, run.row, [part.content]);
    return part.content.ref;
  }
  if (part.kind !== "call") return part;
  const tool = toolNamed(agent, part.tool);
  const args = tool === null ? part.args : recordable(tool, part.args, "arguments");
  return { ...part, args: await run.keep(args) };
}
