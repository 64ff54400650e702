/** Runs the tool calls that this invocation released, and recovers the calls that an earlier invocation left open. */
import type { Agent, CallContext, Tool, ToolContext } from "../../ports/agent.ts";
import { keepResult, readResultOf } from "./kept-result.ts";
import { asJson, bounded, isErrorNamed, sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import {
  recoveryAfterCrash,
  recoveryAfterTimeout,
  asDeclared,
  effectOf,
  resultOf,
  startsOnce,
  stopsOnCancel,
} from "../../core/calls/ledger.ts";
import { inline } from "../../core/message.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { runBatch } from "./batch.ts";
import { inRun } from "./read-result.ts";
import { watchForCancel } from "./cancel-watch.ts";
import { type Try, attemptTool } from "./tool-attempt.ts";
import { type Input, toolInputOf } from "./parsed-args.ts";
import { callContextOf, canGoOn, openCall, timeoutOf, toolFor, whyChanged } from "./tools.ts";
import { openMark } from "../../protocol/restored.ts";
import { recordResult } from "./record-result.ts";
import { mayDeferCommit } from "./deferred-commit.ts";
import { asCodeOf } from "../context/code-at-work.ts";
import { traceOfCall } from "../context/trace.ts";
import { memoryFor } from "../../features/memory/engine.ts";
import { redactionIn, secretsFor } from "../../history/secrets.ts";
import { type Next, unlessOutlived } from "../context/next.ts";
import { externalIdOf, lostResult, readError, recordEvidence } from "./outcome-evidence.ts";
import { callbackFor, filesFor } from "../../features/files/run-files.ts";
import { afterRelease, postponeForRoom } from "./postpone.ts";
import { pauseBefore, waitUnlessDrained, recordRetry } from "./tool-retry.ts";
import { restoredWords, takeLostResult } from "./lost-time.ts";
import { recordMissingTool } from "./missing-tool.ts";
import { reconcileFromAfter, reconcileFromOf, recordUnknown, recordUnknownAndTellModel } from "./unknown-outcome.ts";
import * as z from "zod";

/** A released call with its tool and its parsed arguments. */
interface Runnable {
  readonly open: OpenCall;
  readonly tool: Tool;
  readonly input: Input;
  readonly context: CallContext;
  /** The call that this one undoes, for an undo; otherwise null. */
  readonly undone: { readonly of: { readonly key: string; readonly result: Json | null } } | null;
}

/**
 * Runs the released calls of one reply in parallel (`batch.ts`). Every intent is durable before its call leaves the
 * process.
 */
export async function runTools(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  // The commit may bring news, such as a cancel. That has to take effect before any call acts outside.
  if (run.hasPending && !mayDeferCommit(run, agent)) {
    await run.commitPending();
    return "continue";
  }
  const all = await Promise.all(calls.map((call) => prepared(run, agent, call)));
  const runnable = withRoom(run, all);
  // A run that asks an operator now parks at once.
  if (runnable.length === 0) return run.state.phase === "AwaitingReconcile" ? "continue" : "release";
  const longest = Math.max(...runnable.map(({ tool }) => timeoutOf(run, tool)));
  const pauseMs = Math.max(...runnable.map(({ open, tool }) => pauseBefore(open, tool)));
  // The pause before a retry is cut to the time that is left. It never costs the attempt itself.
  // Released without a start, the calls are postponed by the release of the run.
  if (!(await waitUnlessDrained(run, Math.min(pauseMs, run.leftMs - longest)))) return "release";
  const watch = watchForCancel(
    run,
    runnable.map(({ open }) => open),
  );
  try {
    await runBatch(run, runnable, {
      start: (each) => tryOnce(run, agent, each, stopsOnCancel(each.open) ? watch.signal : null),
      record: (each, ended) => recordEnd(run, agent, { ...each, ended }),
    });
  } finally {
    watch.end();
  }
  return unlessOutlived(run.noticed, "toolsRan");
}

/**
 * The calls that can end within this invocation. The others are postponed. Schedule 211: an invocation freezes after it
 * released a call, and another one releases the call again. The time of the frozen one is over, so it starts nothing.
 */
function withRoom(run: ActiveRun, all: readonly Runnable[]): readonly Runnable[] {
  return all.filter(({ open, tool }) => {
    const takesMs = timeoutOf(run, tool);
    if (takesMs <= run.leftMs) return true;
    postponeForRoom(run, { open, tool, after: afterRelease(run, open), takesMs });
    return false;
  });
}

/**
 * Loads a call for its attempt. `intend` or `recover` has checked the tool and the arguments before this invocation
 * released the call.
 */
async function prepared(run: ActiveRun, agent: Agent, call: string): Promise<Runnable> {
  const found = openCall(run, call);
  const tool = inRun(run, toolFor(agent, found) as Tool);
  const open = asDeclared(found, tool.effect);
  const input = await toolInputOf(run, { open: found, tool });
  return { open, tool, input, context: await callContextOf(run), undone: await undoneBy(run, found) };
}

/** The key and result of the call that this one undoes, or null if it is not an undo. */
export async function undoneBy(run: ActiveRun, { undoes }: OpenCall): Promise<Runnable["undone"]> {
  if (undoes === undefined) return null;
  const key = run.state.undo?.find(({ call }) => call === undoes)?.key ?? "";
  const result = resultOf(run.state, undoes);
  return { of: { key, result: result && (await run.json(result)) } };
}

/**
 * Starts one attempt. Rejects only if the process has to end at once, because other calls of the batch may be running.
 * `recordEnd` records the outcome.
 */
async function tryOnce(run: ActiveRun, agent: Agent, each: Runnable, cancelled: AbortSignal | null): Promise<Try> {
  run.noticed.note("begun", each.open.call);
  let call: Parameters<typeof attemptTool>[0];
  try {
    const { clock, limits } = run.world;
    const { tool } = each;
    const timeoutMs = timeoutOf(run, tool);
    call = { tool, context: contextOf(run, agent, each), timeoutMs, graceMs: limits.abortGraceMs, clock, cancelled };
  } catch (error) {
    // The schema may make another value now, or throw, although it accepted these arguments before.
    return { kind: "unstarted", why: sentenceOf(error) };
  }
  return asCodeOf(run, each.open.tool, (ran) => attemptTool({ ...call, ran }));
}

/** What the tool's function receives. */
function contextOf(
  run: ActiveRun,
  agent: Agent,
  { open, input: read, context, undone }: Runnable,
): Parameters<typeof attemptTool>[0]["context"] {
  const { clock, telemetry } = run.world;
  const { run: id, epoch } = run.row;
  const log = (line: string): void => {
    try {
      const detail = { tool: open.tool, line: redactionIn(run.world).text(String(line)) };
      telemetry.record({ at: clock.now(), run: id, level: "trace", what: "log", detail });
    } catch {
      // A line that cannot be converted to text must not make its call fail.
    }
  };
  if (read.kind !== "input") throw new Error(read.why);
  const input = read.make();
  const secrets = secretsFor(run.world, agent);
  // An invocation that died, or an operator who let the call run again, counts as one earlier attempt.
  const isRepeated =
    open.timesUnknown > 0 || open.postponed?.begunBefore === true || run.noticed.knows("repeated", open.call);
  const attempt = Math.max(open.attempts, isRepeated ? 1 : 0) + 1;
  const files = filesFor(run);
  const callback = callbackFor(run);
  const memory = memoryFor(run, agent);
  const traced = traceOfCall(run.world, run.row, open);
  const given = { ...context, ...traced, input, key: open.intent?.key ?? "", attempt, epoch };
  return { ...given, log, secrets, files, memory, callback, wasGiven: wasGivenIn(run), ...undone };
}

/** Records the outcome of one attempt: a result, a failure, an unknown outcome or another attempt. */
async function recordEnd(
  run: ActiveRun,
  agent: Agent,
  { open, tool, ended }: Runnable & { readonly ended: Try },
): Promise<void> {
  if (startsOnce(open)) run.pending.requireCommit();
  if (ended.kind === "silent") return recordSilence(run, open, { tool, why: ended.why });
  if (ended.kind === "stopped") return recordStopped(run, open, { tool, ended });
  if (ended.kind === "unstarted") return recordUnstarted(run, open, { tool, why: ended.why });
  if (ended.kind === "threw") {
    const read = readError(tool, ended.error);
    if (read.kind === "exists") {
      const { result } = read;
      return recordEvidence(run, { call: open.call, tool, result, by: "external service", evidence: ended.why });
    }
    if (open.undoes !== undefined) return recordSilence(run, open, { tool, why: ended.why });
    if (run.noticed.knows("unanswered", open.call) && !isAnswer(open, ended.error)) {
      const why = bounded(
        `${ended.why}; an earlier attempt gave no answer, so this error does not say whether the call happened`,
      );
      return recordSilence(run, open, { tool, why });
    }
    const known = recordRetry(run, agent, { open, tool, error: ended.error, why: ended.why });
    if (known === null) return;
    const evidence = bounded(`${read.evidence}${known}`);
    return recordResult(run, open.call, { outcome: "failed", value: inline(ended.why), evidence });
  }
  if (open.undoes !== undefined) return recordUndone(run, { call: open.call, value: ended.value });
  const read = readResultOf(run, tool, ended.value);
  if (read.ok) {
    const kept = await keepResult(run, tool, read);
    const externalId = externalIdOf(tool, read.json);
    return recordResult(run, open.call, { outcome: "succeeded", ...kept, externalId, evidence: "the tool returned" });
  }
  // The tool returned, so an effect outside has happened. Only its result is lost.
  const outcome = EFFECTS[tool.effect].actsOutside ? "succeeded" : "failed";
  const evidence = `the tool returned, and its result is lost: ${read.code}`;
  recordResult(run, open.call, { outcome, value: lostResult(read, { by: "tool", outcome }), evidence });
}

/**
 * Whether the error settles all attempts of the call. It does for a call without an outside effect. It does for a
 * probed call, because the probe showed that earlier attempts had no effect. It does if the service rejected the key.
 */
const isAnswer = ({ intent }: OpenCall, error: unknown): boolean =>
  intent === null || !EFFECTS[intent.effect].overlapsEarlierTries || isErrorNamed(error, "Rejected");

/**
 * Records a call of which this attempt was never started. An earlier attempt without an answer may have left, so its
 * outcome is unknown. An undo is also unknown: if it counted as over, its effect would stay.
 */
function recordUnstarted(run: ActiveRun, open: OpenCall, attempt: { readonly tool: Tool; readonly why: string }): void {
  const why = bounded(`NotStarted: its arguments could not be read again: ${attempt.why}`);
  const isUnsure = run.noticed.knows("unanswered", open.call) && EFFECTS[effectOf(open)].overlapsEarlierTries;
  if (open.undoes !== undefined || isUnsure) return recordSilence(run, open, { tool: attempt.tool, why });
  const isFirst = open.attempts === 0 && !run.noticed.knows("unanswered", open.call);
  const evidence = isFirst ? "it was never started" : "no further try of it was started";
  recordResult(run, open.call, { outcome: "failed", value: inline(`${why}; it did not happen`), evidence });
}

/**
 * Records a call that stopped at its signal, since the run is cancelled. It did nothing if it cannot act outside, or if the
 * service refused it meanwhile; else its request may have left. The commit that follows sees the cancel, so nothing is tried
 * again.
 */
function recordStopped(
  run: ActiveRun,
  open: OpenCall,
  { tool, ended }: { readonly tool: Tool; readonly ended: Extract<Try, { readonly kind: "stopped" }> },
): void {
  run.pending.requireCommit();
  const why = `a cancel aborted its signal: ${ended.why}`;
  const isRefused = isErrorNamed(ended.error, "Rejected");
  if (EFFECTS[effectOf(open)].actsOutside && !isRefused) return recordSilence(run, open, { tool, why });
  const value = inline(bounded(`Cancelled: ${why}; it did not happen`));
  const evidence = isRefused ? "the service refused it" : "it stopped at its signal";
  recordResult(run, open.call, { outcome: "failed", value, evidence });
}

/** Records that an undo returned. A value that cannot be kept is replaced by the reason. */
async function recordUndone(run: ActiveRun, { call, value }: { call: string; value: unknown }): Promise<void> {
  const parsed = asJson(value ?? null);
  const kept = parsed.ok ? await run.keepSmall(parsed.json) : inline(bounded(`ResultRefused: ${parsed.why}`));
  run.record({ kind: "ToolCompensated", at: run.now, call, value: kept, evidence: "the undo returned" });
}

/**
 * Decides after an attempt without an answer: try again with the same key, probe, or record an unknown outcome. After
 * the last attempt the tool's policy decides whether an operator reconciles it or the model is told. A call without an
 * outside effect has failed then: the model must not look for an effect that it cannot have had.
 */
function recordSilence(run: ActiveRun, open: OpenCall, { why, tool }: { tool: Tool; why: string }): void {
  const at = run.now;
  const { call } = open;
  const decision = recoveryAfterTimeout(open);
  if (decision === "again") {
    run.noticed.note("unanswered", call);
    const action = { kind: "again", call } as const;
    run.record({ kind: "RecoveryDecided", at, rule: "call ended without an answer", why, action });
    return;
  }
  if (decision === "probe") {
    const action = { kind: "probe", call, at: reconcileFromOf(run, tool), tried: true } as const;
    run.record({ kind: "RecoveryDecided", at, rule: "call ended without an answer", why, action });
    return;
  }
  if (decision === "ask" || (tool.onUnknown ?? "tell") !== "tell") {
    return recordUnknown(run, { call, tool, why });
  }
  const tries = open.attempts + 1;
  if (!EFFECTS[effectOf(open)].actsOutside) {
    const value = inline(bounded(`NoAnswer: ${why}, in the last of ${tries} tries`));
    return recordResult(run, call, { outcome: "failed", value, evidence: "no try of it gave an answer" });
  }
  recordUnknownAndTellModel(run, {
    call,
    tool,
    why: `unknown after ${tries} tries with one key: ${why}. It may have happened.`,
  });
}

/** Decides by the resume table (`ledger.ts`) about calls that another invocation released. */
export async function recoverCalls(run: ActiveRun, agent: Agent, calls: readonly string[]): Promise<Next> {
  const mark = openMark(run.row);
  for (const call of calls) {
    const released = openCall(run, call);
    const tool = toolFor(agent, released);
    const open = tool === null ? released : asDeclared(released, tool.effect);
    const fits = await canGoOn(run, { open, tool });
    const at = run.now;
    const changed = tool === null ? null : await whyChanged(run, { open, tool });
    if (changed !== null) {
      recordUnknown(run, { call, tool, why: changed, reconcilableFrom: reconcileFromAfter(run, { open, tool }) });
      continue;
    }
    if (mark !== null && (await takeLostResult(run, { call, mark }))) continue;
    const decision = recoveryAfterCrash(open, fits);
    if (decision === "again") {
      run.noticed.note("unanswered", call);
      run.noticed.note("repeated", call);
      run.record({ kind: "ToolInvoked", at, call, epoch: run.row.epoch });
      continue;
    }
    const died = "its process ended after the call was released and before its outcome was recorded";
    if (decision === "probe") {
      const probeAt = reconcileFromAfter(run, { open, tool });
      const action = {
        kind: "probe",
        call,
        at: probeAt,
        tried: false,
        ...(mark !== null && { restored: mark.at }),
      } as const;
      run.record({ kind: "RecoveryDecided", at, rule: "call was open when its process ended", why: died, action });
      continue;
    }
    // An unsafe call has an unknown outcome with or without its tool, so an operator has to reconcile it.
    const isGone = !fits && (open.intent === null || EFFECTS[open.intent.effect].mayRepeat);
    if (isGone) recordMissingTool(run, { open, tool });
    else {
      const why = mark === null ? died : `${died}; ${restoredWords(mark)}`;
      const reconcilableFrom = reconcileFromAfter(run, { open, tool });
      recordUnknown(run, { call, tool: mark === null ? tool : null, why, reconcilableFrom, restored: mark?.at });
    }
  }
  return "continue";
}

/** A result of a server with links. Text in a result that looks like a link is none. */
const linking = z.looseObject({ links: z.array(z.looseObject({ uri: z.string() })) });

/** The links that results of a run gave, for a tool that reads nothing else. */
const wasGivenIn =
  (run: ActiveRun): NonNullable<ToolContext<unknown>["wasGiven"]> =>
  async ({ uri, tools }) => {
    const parts = run.state.messages.flatMap((message) => message.parts);
    for (const part of parts) {
      if (part.kind !== "result" || part.outcome !== "succeeded" || !tools.includes(part.tool)) continue;
      const read = linking.safeParse(await run.json(part.value));
      if (read.success && read.data.links.some((link) => link.uri === uri)) return true;
    }
    return false;
  };
