/** Sends one request to the model, with a timeout and a watchdog, and debits the cost of a reply. */
import type { Agent } from "../../ports/agent.ts";
import type { Model, ModelOutcome } from "../../ports/model.ts";
import { type TokenCounts, microUsdOf } from "../../core/policy/price.ts";
import type { Message } from "../../core/message.ts";
import { PHASES } from "../../core/phases.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { withTimeout } from "../../ports/with-timeout.ts";
import { limitsOf } from "../context/budget-gate.ts";
import { estimatedCost, needsEstimate } from "../context/unaccounted-model-calls.ts";
import { openDeltaStream } from "../../features/live-text/delta-stream.ts";
import { instructionsWithMemory } from "../../features/memory/recalled.ts";
import { filesToShow } from "../../features/files/shown-files.ts";
import { withoutOptionalParts } from "./optional-parts.ts";
import { responseFormatOf } from "./response-format.ts";
import { watchPhase } from "./watchdog.ts";

/** What came of a model call. */
export type Heard =
  | Exclude<ModelOutcome, { readonly kind: "aborted" }>
  /** No reply came before the timeout, the watchdog or the end of the process. */
  | { readonly kind: "silent"; readonly by: "drain" | "timeout" | "watchdog"; readonly why: string };

interface Asked {
  readonly model: Model;
  readonly mayCall: boolean;
  readonly messages?: readonly Message[];
  /** The reply goes to the people who follow the run, so it is streamed to those who are attached. */
  readonly isForReaders?: true;
}

/**
 * Calls the model until the time is over or the process is asked to end. A reply that comes later is lost. The call
 * leaves under a mark of this epoch, and the caller must record its cost. Meanwhile other beats act in the process, so
 * the caller goes on when there is a place for it.
 */
export async function requestModel(
  run: ActiveRun,
  agent: Agent,
  asked: Asked,
): Promise<{ readonly heard: Heard; readonly tookMs: number }> {
  const startedAt = run.now;
  const comeBack = run.invocation.stepAside?.();
  try {
    const heard = await listen(run, agent, asked);
    // A clock may be set back in between. A negative time could be written but never read again.
    return { heard, tookMs: Math.max(0, run.now - startedAt) };
  } finally {
    await comeBack?.(run.leftMs);
  }
}

async function listen(run: ActiveRun, agent: Agent, options: Asked): Promise<Heard> {
  const { clock, limits } = run.world;
  const { mayCall, model, messages: all = visibleMessages(run.state) } = options;
  const messages = run.state.leavesOut === true ? withoutOptionalParts(all) : all;
  const begun = run.now;
  const timeoutMs = Math.max(1, Math.min(limits.modelMs, run.leftMs));
  const stop = new AbortController();
  const { signal } = stop;
  let isIdle = false;
  const onHard = (): void => {
    isIdle = true;
    stop.abort();
  };
  const forget = clock.after(timeoutMs, () => stop.abort());
  const unwatch = watched(run, { endsInMs: timeoutMs, hardMs: agent.hardIdleMs, onHard });
  const { tools } = agent;
  const instructions = await instructionsWithMemory(run, agent);
  const files = await filesToShow(run, messages);
  const stream = options.isForReaders === true ? await openDeltaStream(run.world, run.row) : null;
  run.pending.modelCallLeaves();
  const format = responseFormatOf(agent);
  const { replyTokensMax } = run.state;
  const settings = { ...agent.modelOptions, ...(replyTokensMax !== undefined && { maxOutputTokens: replyTokensMax }) };
  const unfollow = follow(run.invocation.drain, stop);
  const leave = run.world.announce?.({ run: run.row.run, what: `model ${model.name}` });
  const asked = model.ask({
    instructions,
    tools,
    mayCall,
    messages,
    options: settings,
    format,
    files,
    signal,
    ...(stream === null ? {} : { onPiece: stream.add }),
  });
  const stopped = new Promise<null>((resolve) => {
    signal.addEventListener("abort", () => resolve(null), { once: true });
    if (signal.aborted) resolve(null);
  });
  try {
    const first = await Promise.race([asked, stopped]);
    if (first !== null && first.kind !== "aborted") return heard(run, first);
    // Check once more, so that a reply that is there already is not dropped.
    const last = await withTimeout(asked, limits.abortGraceMs, clock);
    if (last === null) run.noticed.noteOutlived("code");
    if (last !== null && last.kind !== "aborted") return heard(run, last);
  } finally {
    forget();
    unwatch();
    unfollow();
    leave?.();
    stream?.close();
  }
  if (run.invocation.drain.aborted) return { kind: "silent", by: "drain", why: "its process was asked to end" };
  // A clock may be set back in between.
  const why = `no reply within ${Math.max(0, run.now - begun)} ms`;
  return { kind: "silent", by: isIdle ? "watchdog" : "timeout", why };
}

/**
 * Stops with that signal, until the returned function is called. A signal of `AbortSignal.any` would do the same, but the
 * process keeps such a signal for good once somebody listens to it.
 */
function follow(signal: AbortSignal, stop: AbortController): () => void {
  const onAbort = (): void => stop.abort();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) stop.abort();
  return () => signal.removeEventListener("abort", onAbort);
}

/** Passes the outcome on. A call that failed has cost nothing, unless its reply had begun: the caller debits that. */
function heard(run: ActiveRun, outcome: Exclude<ModelOutcome, { readonly kind: "aborted" }>): Heard {
  if (outcome.kind === "failed" && outcome.spent === undefined) run.pending.modelCallSettled();
  return outcome;
}

/** Starts the watchdog. A retry that is due counts as waiting for the model, like a first call. */
function watched(
  run: ActiveRun,
  limits: { readonly endsInMs: number; readonly hardMs: number | null; readonly onHard: () => void },
): () => void {
  const { clock, telemetry } = run.world;
  return watchPhase(clock, {
    ...limits,
    phase: () => (run.state.phase === "RetryingLLM" ? "AwaitingLLM" : run.state.phase),
    onSoft: (phase, waitedMs) => {
      const detail = { phase, label: PHASES[phase].label, seconds: Math.floor(waitedMs / 1_000) };
      telemetry.record({ at: clock.now(), run: run.row.run, level: "trace", what: "PhaseStuck", detail });
    },
  });
}

/**
 * Debits a reply. It was paid for, even if it is not used: at an estimate, if its provider does not report its tokens and
 * they cost money or count for a budget.
 * `isBeat`: the reply plans the next calls, so it counts as a beat.
 */
export function debitReply(
  run: ActiveRun,
  agent: Agent,
  used: TokenCounts & { readonly model: Model; readonly isBeat: boolean },
): void {
  const { tokensIn, tokensOut, isUncounted = false, model, isBeat } = used;
  const counted = { tokensIn, tokensOut, microUsd: microUsdOf(agent.price, used) };
  const isEstimated = isUncounted && needsEstimate(agent.price, limitsOf(run.state, agent).tokens);
  const cost = isEstimated ? estimatedCost(run.state, agent.price, 1, run.terms?.summaryCharacters) : counted;
  const debit = { ...cost, ...(isBeat ? { beats: 1 } : {}) };
  const what = isEstimated ? `${model.name}, estimated` : model.name;
  run.record({ kind: "BudgetDebited", at: run.now, debit, for: what });
  run.pending.modelCallSettled();
}
