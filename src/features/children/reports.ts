/**
 * What the report of a child run means for the call that waits for it, and what follows when the child is too late. A
 * hand-off that failed is tried again with another child, a bounded number of times.
 *
 * Schedule 213: a child acts outside after its parent made another one for the same call. Their keys differ, so the
 * effect happens twice. So another child is made only if the earlier one can do nothing outside any more: the version
 * of its agent that it runs declares no tool that could, or it has ended, or was never made, and it released no call
 * that acts outside. Every other hand-off that fails says what was done. An outcome that is unknown to the child is
 * unknown to the parent, and blocks it.
 *
 * A child that missed its deadline may go on as the same run, in another process. Its keys stay, so a call that is
 * under way follows the table of effect classes as after a death of its process: `none` and `keyed` go on at once,
 * `idempotent` and `probed` once the earlier request can no longer land. Other children are left as they are:
 *
 * - An `unsafe` call that is under way. Another process could only ask a human; the one that made it may still learn the
 *   outcome.
 * - A child that waits for a human, for code or for an operator. No process holds it up.
 * - A child that has made no progress since it was taken from its process. It would hang a third time (schedule 255).
 */
import { childIn, isReleased } from "../../core/calls/held-calls.ts";
import type { Agent, Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { handedOut } from "./core.ts";
import { argsOf } from "../../core/calls/ledger.ts";
import { unknownWork, workInWords, workLines, workStands } from "../../core/calls/outside.ts";
import { whyLost } from "../../core/topologies/echo.ts";
import type { Json } from "../../core/json.ts";
import type { Child } from "../../core/child.ts";
import { inline } from "../../core/message.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { absorbInbox } from "../../engine/context/inbox.ts";
import { signalCrack } from "../../engine/context/signal-crack.ts";
import type { Next } from "../../engine/context/next.ts";
import type { Runner } from "../../engine/context/runner.ts";
import { isHarmless, stateOfChild } from "./acts-nowhere.ts";
import { dispatch, reasonAgainstDispatch } from "./dispatch.ts";
import { recordable } from "../../engine/tools/recordable.ts";
import { recordResult } from "../../engine/tools/record-result.ts";
import { readResult } from "../../engine/tools/tool-result.ts";
import { openCall, toolFor } from "../../engine/tools/tools.ts";
import { reconcileFromOf } from "../../engine/tools/unknown-outcome.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import type { Phase } from "../../core/phases.ts";
import { dispatchIn } from "../../protocol/row-fence.ts";
import { hasEnded } from "../../protocol/row.ts";

const TIMED_OUT = "ChildTimedOut";

/** Judges what the children of these calls reported. A child may be dispatched again, a bounded number of times. */
export async function takeReports(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  for (const call of calls) await takeReport(run, agent, openCall(run, call));
  // The result has to be durable before the model sees it.
  run.pending.requireCommit();
  return "continue";
}

async function takeReport(run: ActiveRun, agent: Agent, open: OpenCall): Promise<void> {
  const { report, late } = childIn(open) ?? {};
  if (report === undefined) return;
  const tool = toolFor(agent, open);
  const evidence = `child run ${report.status}`;
  if (report.status !== "completed" && late === true) {
    return handOffFailed(run, agent, {
      open,
      tool,
      code: TIMED_OUT,
      why: "its child run was too late and was stopped",
    });
  }
  if (report.status !== "completed") {
    const why = { status: report.status, why: await run.json(report.value) };
    return recordFailed(run, { open, tool, why, evidence });
  }
  const json = await run.json(report.value);
  const read = tool === null ? ({ ok: true, json } as const) : readResult(tool, json);
  const task = await run.json(argsOf(run.state, open.call));
  const lost = read.ok
    ? whyLost({ task, answer: json, mayEcho: tool?.child?.mayEcho === true })
    : `its answer does not fit: ${read.why}`;
  if (lost !== null) return handOffFailed(run, agent, { open, tool, code: "HandoffLost", why: lost });
  const value = await run.keep(tool === null || !read.ok ? json : recordable(tool, read.json, "result"));
  recordResult(run, open.call, { outcome: "succeeded", value, evidence });
}

/** Signals the failure, then dispatches another child, or lets the call fail. */
async function handOffFailed(
  run: ActiveRun,
  agent: Agent,
  failure: {
    readonly open: OpenCall;
    readonly tool: Tool | null;
    readonly code: string;
    readonly why: string;
  },
): Promise<void> {
  const { open, tool, code } = failure;
  const number = handedOut(open);
  const why = bounded(`${open.tool} (${open.call}), try ${number}: ${failure.why}`);
  signalCrack(run, "lostHandoff", why);
  const child = tool?.child;
  const against = child === undefined ? null : reasonAgainstDispatch(run, agent, child.grant);
  const isUsedUp = child === undefined || number >= child.tries;
  if (!isUsedUp && against === null && open.outside === undefined) {
    return dispatch(run, { call: open.call, child, try: (childIn(open)?.try ?? 1) + 1 });
  }
  const acted =
    isUsedUp || open.outside === undefined
      ? ""
      : "; no other child run was made, since this one released calls that act outside";
  const rest = against === null || open.outside !== undefined ? acted : `; ${against}`;
  const said = bounded(`${code}: ${failure.why}, after ${number} of ${child?.tries ?? number} tries${rest}`);
  await recordFailed(run, { open, tool, why: said, evidence: "the hand-off failed" });
}

/** The call fails with what its children did. If the outcome of that is not known, neither is that of the call. */
async function recordFailed(
  run: ActiveRun,
  {
    open,
    tool,
    why,
    evidence,
  }: { readonly open: OpenCall; readonly tool: Tool | null; readonly why: Json; readonly evidence: string },
): Promise<void> {
  const { call, outside } = open;
  if (outside === undefined || !workStands(outside)) {
    return recordResult(run, call, { outcome: "failed", value: inline(why), evidence });
  }
  const done = workInWords(outside);
  if (unknownWork(outside).length > 0) {
    const reconcilableFrom = Math.max(outside.settlesAt ?? 0, reconcileFromOf(run, tool));
    const said = typeof why === "string" ? why : JSON.stringify(why);
    const unknown = bounded(`the hand-off failed, and what its child run did is not known: ${done}; ${said}`);
    return run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why: unknown, reconcilableFrom });
  }
  const told = { ...(typeof why === "object" ? why : { status: "failed", why }), done: [...workLines(outside)] };
  recordResult(run, call, {
    outcome: "failed",
    value: await run.keep(told),
    evidence: bounded(`${evidence}, after ${done}`),
  });
}

/**
 * C7: a child is too late. An answer that is there wins over the clock, so the inbox is read first, and the commit is
 * conditional on the wake-up counter.
 */
export async function childTooLate(
  run: ActiveRun,
  { agent, runner }: { readonly agent: Agent; readonly runner: Runner },
  child: string,
): Promise<Next> {
  if (!(await absorbInbox(run))) return "continue";
  const entry = run.state.children.find(({ id }) => id === child);
  if (entry === undefined || entry.superseded || entry.late === true) return "continue";
  const actsNoMore = await isHarmless(runner, entry);
  const open = openCall(run, entry.call);
  const { tries = 0, deadlineMs = 0 } = toolFor(agent, open)?.child ?? {};
  const used = handedOut(open) - (entry.isContinuing === true ? 1 : 0);
  const goesOn = actsNoMore || used >= tries ? null : await continuationOf(runner, entry, tries - used);
  if (goesOn !== null) return continueLate(run, { open, entry, goesOn, deadlineMs });
  const before = run.mark();
  const why = `child run ${child} gave no answer by its deadline`;
  const waits = actsNoMore ? {} : ({ awaited: true } as const);
  run.record({ kind: "ChildSuperseded", at: run.now, call: entry.call, child, why, ...waits });
  signalCrack(run, "workerSilence", bounded(`${open.tool} (${open.call}): ${why}`));
  if (actsNoMore) await handOffFailed(run, agent, { open, tool: toolFor(agent, open), code: TIMED_OUT, why });
  return commitUnlessWoken(run, before);
}

/**
 * C9: the late child goes on as the same run. The decision is durable before the child is taken from its process, and
 * it is not made if the child reported meanwhile.
 */
async function continueLate(
  run: ActiveRun,
  late: {
    readonly open: OpenCall;
    readonly entry: Child;
    readonly goesOn: Continuation;
    readonly deadlineMs: number;
  },
): Promise<Next> {
  const { open, entry, goesOn, deadlineMs } = late;
  const { call, id: child } = entry;
  const before = run.mark();
  const [dispatch, at] = [(entry.dispatch ?? 1) + 1, run.now];
  const why = `child run ${child} gave no answer by its deadline`;
  run.record({
    kind: "ChildContinued",
    at,
    call,
    child,
    dispatch,
    ...goesOn,
    why,
    deadline: Math.max(at, goesOn.settlesAt ?? 0) + deadlineMs,
  });
  signalCrack(run, "workerSilence", bounded(`${open.tool} (${open.call}): ${why}; it goes on as dispatch ${dispatch}`));
  return commitUnlessWoken(run, before);
}

/** An answer that comes before the commit wins over the clock (schedule 129). */
async function commitUnlessWoken(run: ActiveRun, before: ReturnType<ActiveRun["mark"]>): Promise<Next> {
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

interface Continuation {
  /** The number of messages of the child. */
  readonly messages: number;
  /** Until when its request may land, epoch milliseconds; absent: it waits for none. */
  readonly settlesAt?: number;
}

const WAITS_FOR_HUMANS: ReadonlySet<Phase> = new Set([
  "AwaitingApproval",
  "AwaitingReconcile",
  "AwaitingAgent",
  "Paused",
]);

/** Null: the child does not go on so. `triesLeft`: of its parent. The child may have used them itself. */
async function continuationOf(
  from: Pick<Runner, "world" | "agentOf" | "level">,
  entry: Child,
  triesLeft: number,
): Promise<Continuation | null> {
  if (entry.made !== true || entry.askedToStop === true) return null;
  const found = await stateOfChild(from, entry.id);
  if (found === null) return null;
  const { row, state } = found;
  const { length: messages } = state.messages;
  if ((state.expected?.returned ?? 0) >= triesLeft) return null;
  if (hasEnded(row) || row.cancel || row.pause || state.ending !== null) return null;
  if (WAITS_FOR_HUMANS.has(state.phase) || state.open.some(mustAsk)) return null;
  // A boss that died or was paused before its request has not taken the child yet: its new time has not begun.
  const wasTaken = dispatchIn(row) >= dispatchIn(entry);
  if (wasTaken && entry.messages === messages) return null;
  const waiting = state.open.filter((call) => isReleased(call) && afterCrash(call) === "probe");
  if (waiting.length === 0) return { messages };
  const agent = await from.agentOf(entry.agent);
  const { clock, limits } = from.world;
  const settleMs = waiting.map(({ tool }) => {
    const declared = agent.kind === "absent" ? undefined : agent.agent.tools[tool]?.settleMs;
    return declared ?? limits.settleMs;
  });
  // Its next process counts from its own lease (`reconcileFromAfter`).
  const nextLease = clock.now() + limits.beatMs + limits.skewMs;
  const quietFrom = Math.max(nextLease, row.effectsSettleAt, row.leaseUntil ?? 0);
  return { messages, settlesAt: quietFrom + Math.max(...settleMs) };
}

const mustAsk = (call: OpenCall): boolean =>
  call.status === "unknown" || (isReleased(call) && afterCrash(call) === "ask");

const afterCrash = ({ intent }: OpenCall) => (intent === null ? "ask" : EFFECTS[intent.effect].onCrash);
