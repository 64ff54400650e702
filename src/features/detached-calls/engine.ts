/**
 * Jobs of asynchronous models: sends the request of a job, looks at the job, and drops it. Between two looks the run
 * waits like any other: no process lives for it, and nothing is paid.
 *
 * Schedule 194: a process dies after the provider has accepted the request and before the commit of its reference. The
 * next invocation must not start a second job. It finds the first one by its key, where the provider can be asked. If
 * it cannot, the job counts as lost and is debited at its estimate.
 *
 * Schedule 195: the process is frozen instead, and its request arrives after the provider was asked for the key. So the
 * next invocation waits until no request of the lost one can arrive any more.
 *
 * Schedule 226: the answer to a start is lost, and the start is refused when it is repeated. The refusal speaks of the
 * second request only, and the first may have made a job. So the job stays unknown until the provider answers.
 */
import type { Agent } from "../../ports/agent.ts";
import type {
  Model,
  ModelFailed,
  ModelRequest,
  DetachedCalls,
  FoundDetached,
  Polled,
  SoughtCall,
  Submitted,
} from "../../ports/model.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { DetachedCall, DetachedCallEnd } from "../../core/detached-call.ts";
import { detachedOut } from "./core.ts";
import { visibleMessages } from "../../core/policy/window.ts";
import { ensure } from "../../core/ensure.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";
import { withSecrets } from "../../engine/context/agent-secrets.ts";
import { recordLostCalls } from "../../engine/context/debits.ts";
import { type Next, goesOn, unlessOutlived } from "../../engine/context/next.ts";
import type { LoadedAgent, Runner } from "../../engine/context/runner.ts";
import { isUnsent } from "./unsent.ts";
import { withTimeout } from "../../ports/with-timeout.ts";
import { REQUEST_MS } from "./begin.ts";
import { absorbReply, recordFailure } from "../../engine/model/call-model.ts";
import { recordModelFailure } from "../../engine/model/provider-outage.ts";
import { instructionsWithMemory } from "../memory/recalled.ts";
import { responseFormatOf } from "../../engine/model/response-format.ts";
import { agentInRole } from "../../engine/model/role.ts";
import { filesToShow } from "../files/shown-files.ts";
import { NO_ANSWER, type NoNews, noteUnasked } from "./unasked-look.ts";

/** The model of a job, and the agent as the job's request shows it to the model, with the price of that model. */
interface Asynchronous {
  readonly agent: Agent;
  readonly model: Model;
  readonly detached: DetachedCalls;
}

/** Sends the request of the job that is begun. If it may have left before, resolves that start first. */
export async function submitDetached(run: ActiveRun, met: LoadedAgent): Promise<Next> {
  const call = detachedOf(run);
  const asked = asynchronousModel(run, met, call);
  if (asked === null) return lose(run, call, `its agent has no asynchronous model ${call.model} any more`);
  const isRepeat = !isUnsent(run, call);
  if (isRepeat) {
    if (asked.detached.find !== undefined) return adoptDetached(run, asked, call);
    if (asked.detached.honoursKeys !== true) {
      return lose(run, call, "the answer to its start was lost, and its provider cannot be asked for its key");
    }
  }
  const { agent, model } = asked;
  const sent = await sendStart(run, asked, call);
  if (sent === "drained") return "release";
  if (sent?.kind === "submitted") return recordSubmitted(run, { key: call.key, reference: sent.reference });
  if (sent?.kind === "failed" && isRepeat) return absorbRefusedRepeat(run, call, sent);
  if (sent?.kind === "failed") {
    endDetached(run, call, { how: "failed", why: sent.failure.message });
    return recordFailure(run, agent, { model, failed: sent });
  }
  const why = sent?.why ?? "the answer to its start did not come in time";
  const isLost = !mayResolve(asked);
  if (isLost) lose(run, call, why);
  const retryAfterMs = isLost ? null : resolvesAfterMs(run, asked, call);
  const failure = { code: "ModelFailed", message: why };
  const { saw } = recordModelFailure(run, agent, { failure, retryable: true, retryAfterMs });
  return unlessOutlived(run.noticed, ...saw);
}

/** The answer to the request that starts the job; null: none came in time. `drained`: no request left. */
async function sendStart(
  run: ActiveRun,
  { agent, detached }: Asynchronous,
  { key }: DetachedCall,
): Promise<Submitted | "drained" | null> {
  const files = await filesToShow(run, visibleMessages(run.state));
  const request = await requestOf(run, agent);
  if (run.invocation.drain.aborted) return "drained";
  // What may fail without a request is done: from here on the job counts as sent.
  run.noticed.note("begun", key);
  run.pending.modelShareUsed();
  return within(run, (signal) => detached.submit({ ...request, files, signal }, key));
}

/**
 * Repeats a refused start later: the first one may have made a job. A request that is refused for what it contains may
 * differ from the first one, for example because the agent has changed. It stays refused under this key, so the run does
 * not repeat it for as long as it waits for a provider.
 */
function absorbRefusedRepeat(run: ActiveRun, call: DetachedCall, { failure, refusal }: ModelFailed): Next {
  const isRefusedForGood = refusal === "request" && run.now - call.at > BOUNDS.refusedStartMsMax;
  if (isRefusedForGood || isTooOld(run, call)) {
    return lose(
      run,
      call,
      `the answer to its start was lost, and its provider refused each repetition: ${failure.message}`,
    );
  }
  noteUnasked(run, call, { why: `its start was refused when it was repeated: ${failure.message}`, isUnasked: true });
  return unlessOutlived(run.noticed, "job");
}

/** Asks the provider for the job under its key. */
async function adoptDetached(run: ActiveRun, asked: Asynchronous, call: DetachedCall): Promise<Next> {
  if (run.now < arrivesUntil(run, call)) return waitForArrival(run, call);
  const found = await findDetached(run, asked, call);
  if (found?.kind === "found") {
    return recordSubmitted(run, { key: call.key, reference: found.reference, adopted: true });
  }
  if (found?.kind !== "absent") {
    const { why } = found ?? NO_ANSWER;
    if (isTooOld(run, call)) return lose(run, call, `its provider did not say whether it has it: ${why}`);
    noteUnasked(run, call, found ?? NO_ANSWER);
    return goesOn("job");
  }
  const message = "the request that should start it left no job at its provider";
  endDetached(run, call, { how: "absent", why: message });
  const failure = { code: "ModelFailed", message };
  return recordModelFailure(run, asked.agent, { failure, retryable: true, retryAfterMs: null });
}

async function recordSubmitted(
  run: ActiveRun,
  submitted: { readonly key: string; readonly reference: string; readonly adopted?: true },
): Promise<Next> {
  run.record({ kind: "DetachedCallSubmitted", at: run.now, ...submitted });
  await run.commitPending();
  // A job that was sent just now has no reply yet.
  return goesOn(submitted.adopted === true ? "newJob" : "job");
}

/** Looks at the job once, and records its reply or failure. */
export async function pollDetached(run: ActiveRun, met: LoadedAgent): Promise<Next> {
  const call = detachedOf(run);
  const { reference = "" } = call;
  const asked = asynchronousModel(run, met, call);
  if (asked === null) return lose(run, call, `its agent has no asynchronous model ${call.model} any more`);
  const { agent, model, detached } = asked;
  const polled = await within<Polled>(run, async (signal) =>
    detached.poll({ ...(await requestOf(run, agent)), signal }, reference),
  );
  if (polled === null || polled.kind === "pending") return waitLonger(run, asked, { call, look: polled ?? NO_ANSWER });
  // The reply is durable before anything follows from it: the provider may delete it.
  run.pending.requireCommit();
  if (polled.kind === "failed" && polled.isPartial === true) {
    lose(run, call, polled.failure.message);
    return recordModelFailure(run, agent, polled);
  }
  if (polled.kind === "failed" && polled.cut === undefined) {
    endDetached(run, call, { how: "failed", why: polled.failure.message });
    return recordFailure(run, agent, { model, failed: polled });
  }
  const { routed = null, request } = call;
  const tookMs = Math.max(0, run.now - call.at);
  return absorbReply(run, agent, { model, routed, heard: polled, tookMs, request });
}

/** Waits for the job until the next look, or gives it up. What the last look said is the only clue to why it is lost. */
async function waitLonger(
  run: ActiveRun,
  asked: Asynchronous,
  { call, look }: { readonly call: DetachedCall; readonly look: NoNews },
): Promise<Next> {
  if (!isTooOld(run, call)) {
    noteUnasked(run, call, look);
    return unlessOutlived(run.noticed, "job");
  }
  const { reference = "" } = call;
  await cancelAt(run, asked, reference);
  lose(run, call, `its reply did not come in time; at the last look: ${look.why}`);
  const failure = { code: "ModelTimedOut", message: `model job ${reference} gave no reply in time: ${look.why}` };
  return recordModelFailure(run, asked.agent, { failure, retryable: true, retryAfterMs: null });
}

/**
 * Gives up a job that the run does not want any more: cancels it at its provider, best effort, and debits its estimate.
 * An agent that kills its process must not keep the run from its end, so its code is loaded once more at most.
 */
export async function dropDetached(runner: Runner, run: ActiveRun): Promise<Next> {
  const call = detachedOf(run);
  if (isUnsent(run, call)) {
    endDetached(run, call, { how: "unsent", why: "the run did not want it any more" });
    return "continue";
  }
  const isCancelled = run.row.deaths <= 1 && (await cancelDetached(runner, run, call).catch(() => false));
  // This process has to end, which broke its request off. The next one asks again.
  if (isCancelled !== true && run.invocation.drain.aborted) return "release";
  if (isCancelled === "unknown") return waitForArrival(run, call);
  const why = isCancelled ? "its provider was asked to cancel it" : "its provider could not be asked to cancel it";
  debitReserved(run, call);
  endDetached(run, call, { how: "cancelled", why });
  return "continue";
}

/** Whether the provider was asked. `unknown`: it cannot say yet whether it has the job. */
async function cancelDetached(runner: Runner, run: ActiveRun, call: DetachedCall): Promise<boolean | "unknown"> {
  const met = await withSecrets(run.world, await runner.agentOf(run.row.agent));
  const asked = met.kind === "agent" ? asynchronousModel(run, met, call) : null;
  if (asked?.detached.cancel === undefined) return false;
  const reference = call.reference ?? (await lostReference(run, asked, call));
  if (reference !== null) return cancelAt(run, asked, reference);
  return mayResolve(asked) && run.now < arrivesUntil(run, call) ? "unknown" : false;
}

/**
 * The reference of a job that is to be cancelled and whose start was not answered; null if its provider does not say.
 * Where the start has to be repeated for it, a job that this makes is cancelled at once.
 */
async function lostReference(run: ActiveRun, asked: Asynchronous, call: DetachedCall): Promise<string | null> {
  if (asked.detached.find !== undefined) {
    const found = await findDetached(run, asked, call);
    return found?.kind === "found" ? found.reference : null;
  }
  if (!mayResolve(asked)) return null;
  const sent = await sendStart(run, asked, call);
  return sent !== null && sent !== "drained" && sent.kind === "submitted" ? sent.reference : null;
}

/** Looks the job up by its key; null: the provider did not say in time. One that cannot be asked has none to find. */
const findDetached = (
  run: ActiveRun,
  { agent, detached }: Asynchronous,
  call: DetachedCall,
): Promise<FoundDetached | null> =>
  within(
    run,
    async (signal): Promise<FoundDetached> =>
      (await detached.find?.({ ...(await requestOf(run, agent)), signal }, soughtOf(run, call))) ?? { kind: "absent" },
  );

const soughtOf = (run: ActiveRun, call: DetachedCall): SoughtCall => ({
  key: call.key,
  since: call.at,
  until: Math.min(run.now, arrivesUntil(run, call)),
});

/** A start without an answer can be resolved: by a look under its key, or by the same start again. */
const mayResolve = ({ detached: { find, honoursKeys } }: Asynchronous): boolean =>
  find !== undefined || honoursKeys === true;

/**
 * How long the run waits before it resolves the start that this invocation sent. A request on its way may still arrive,
 * and a look before that would not find its job. The same start again finds it at any time.
 */
const resolvesAfterMs = (run: ActiveRun, { detached }: Asynchronous, call: DetachedCall): number =>
  detached.find === undefined ? run.world.limits.settleMs : Math.max(0, arrivesUntil(run, call) - run.now);

function waitForArrival(run: ActiveRun, call: DetachedCall): Next {
  return { next: "release", saw: [], until: arrivesUntil(run, call) };
}

/** A provider may refuse to cancel a job that is over, or that it does not know any more. */
async function cancelAt(run: ActiveRun, { agent, detached }: Asynchronous, reference: string): Promise<boolean> {
  if (detached.cancel === undefined) return false;
  const isOver = await within(run, async (signal) => {
    await detached.cancel?.({ ...(await requestOf(run, agent)), signal }, reference);
    return true;
  }).catch(() => false);
  return isOver ?? false;
}

function detachedOf({ state }: ActiveRun): DetachedCall {
  const call = detachedOut(state);
  ensure(call !== undefined, "no model job is out");
  return call;
}

const isTooOld = (run: ActiveRun, { at }: DetachedCall): boolean => run.now - at > BOUNDS.detachedCallMsMax;

/** The model that the job was given to: it may be a fallback, or the model of a role. */
function asynchronousModel(run: ActiveRun, met: LoadedAgent, { model: name }: DetachedCall): Asynchronous | null {
  const { agent, model, fallbacks = [], named = {} } = met;
  const declared = [
    [model, agent] as const,
    ...fallbacks.map((each, index) => [each, agent.fallbacks[index]] as const),
    ...Object.entries(named).map(([role, each]) => [each, agent.models?.[role]] as const),
  ];
  const [found, of] = declared.find(([each]) => each.name === name && each.detached !== undefined) ?? [];
  if (found?.detached === undefined || of === undefined) return null;
  const { price, priceFrom } = of;
  const routed = agentInRole(run.state, { ...agent, model: of.model, price, priceFrom });
  run.use(routed);
  return { agent: routed, model: found, detached: found.detached };
}

const requestOf = async (run: ActiveRun, agent: Agent): Promise<Omit<ModelRequest, "signal">> => ({
  instructions: await instructionsWithMemory(run, agent),
  messages: visibleMessages(run.state),
  tools: agent.tools,
  options: agent.modelOptions ?? {},
  format: responseFormatOf(agent),
});

/** The answer to one request about a job; null: none came before the timeout or the end of the process. */
async function within<T>(run: ActiveRun, ask: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
  const { clock, limits } = run.world;
  const stop = new AbortController();
  const ms = Math.max(1, Math.min(REQUEST_MS, limits.modelMs, run.leftMs));
  const signal = AbortSignal.any([stop.signal, run.invocation.drain]);
  const comeBack = run.invocation.stepAside?.();
  const asked = ask(signal);
  try {
    const first = await withTimeout(asked, ms, clock);
    if (first !== null) return first;
    stop.abort();
    const last = await withTimeout(asked, limits.abortGraceMs, clock);
    if (last === null) run.noticed.noteOutlived("code");
    return last;
  } finally {
    await comeBack?.(run.leftMs);
  }
}

function endDetached(
  run: ActiveRun,
  { key }: DetachedCall,
  end: { readonly how: DetachedCallEnd; readonly why: string },
): void {
  run.record({ kind: "DetachedCallEnded", at: run.now, key, ...end });
}

/** The job may be paid for, and its reply cannot be had. */
function lose(run: ActiveRun, call: DetachedCall, why: string): Next {
  recordLostCalls(run, { calls: 1, why });
  debitReserved(run, call);
  endDetached(run, call, { how: "lost", why });
  return "continue";
}

function debitReserved(run: ActiveRun, { reserved }: DetachedCall): void {
  run.record({ kind: "BudgetDebited", at: run.now, debit: reserved, for: "a model job without a reply, estimated" });
}

/**
 * Until when the request that starts a model job may arrive at its provider. A look under its key says nothing before
 * (schedule 195). Where jobs can be looked up, only the invocation that began the job sends this request, and only
 * while it holds its lease. Epoch milliseconds. That invocation claimed the run before it began the job, so its lease
 * ends at most a beat after that, whether or not the row still knows it. `effectsSettleAt` is later if its beats were
 * longer than they are now.
 */
function arrivesUntil({ row, world }: Pick<ActiveRun, "row" | "world">, { at }: DetachedCall): number {
  const { beatMs, skewMs, settleMs } = world.limits;
  return Math.max(row.effectsSettleAt, at + beatMs + skewMs) + settleMs;
}
