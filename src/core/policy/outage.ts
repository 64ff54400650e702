/**
 * Outages of a model's provider: when a run tries again, which model it calls, and when it gives up. A provider that is
 * down for minutes or hours is no reason to fail a run whose effects are real. So after quick retries the run parks.
 *
 * Full jitter prevents that all runs of a deployment call at once when the provider is back. The caller draws the
 * random number and the event stores the chosen time, so a replay needs neither.
 */
import type { Failure, Outage } from "../event.ts";
import { BOUNDS } from "../limits.ts";
import type { State } from "../state.ts";
import { isModelOut } from "./model-out.ts";

/** The terms on which a model may be called again. */
export interface RetryTerms {
  /** How long the provider asks for no calls (`retry-after`), in milliseconds; null if it does not say. */
  readonly afterMs: number | null;
  /** A random number in [0, 1) that the caller draws. */
  readonly chance: number;
  /** How long an outage may last before the run fails, in milliseconds. */
  readonly outageMaxMs: number;
  /** How many models the agent has, including its own, and which of them failed (`asked`, 0 is its own). */
  readonly models: number;
  readonly asked: number;
}

/** When the model is called again, and the updated outage. */
export interface OutageRetry {
  readonly at: number;
  readonly outage: Outage;
}

/** The model to call now: 0 is the agent's own model, 1 its first fallback. */
export function currentModel({ outage, fallback }: Pick<State, "outage" | "fallback">, now: number): number {
  if (outage !== undefined) return outage.model ?? 0;
  return fallback !== undefined && now < fallback.until ? fallback.model : 0;
}

/** Whether the outage has reached its maximum duration. */
export const outageIsOver = (state: State, { outageMaxMs }: RetryTerms, now: number): boolean =>
  now >= endOf(state, outageMaxMs, now);

/** The model after the one that failed. The agent's own model follows its last fallback. */
export const nextModel = ({ asked, models }: RetryTerms): number => (asked + 1) % models;

/** The same model after one, two and four seconds, or later if its provider asks for that. */
export function retrySoon(state: State, terms: RetryTerms, now: number): OutageRetry {
  const waitMs = Math.max(1_000 * 2 ** state.modelRetries, terms.afterMs ?? 0);
  return { at: inOutage(state, terms, { at: now + waitMs, now }), outage: failedOnce(state, terms, now) };
}

/** The next model, at once: it may have another provider. */
export const switchModel = (state: State, terms: RetryTerms, now: number): OutageRetry => ({
  at: now,
  outage: { ...failedOnce(state, terms, now), model: nextModel(terms) },
});

/**
 * The agent's own model after a random pause. Its ceiling doubles with each round up to a cap, and `notBefore` of the
 * provider is respected. The last try happens when the outage reaches its maximum duration. The model of an unresolved
 * request stays the one that is asked.
 */
export function retryLater(state: State, terms: RetryTerms, now: number): OutageRetry {
  const failed = failedOnce(state, terms, now);
  const { model: _, ...own } = failed;
  const outage = isModelOut(state) ? failed : own;
  const rounds = Math.floor(Math.max(0, outage.attempts - BOUNDS.modelRetriesMax - 1) / terms.models);
  const ceiling = Math.min(BOUNDS.outagePauseMsMax, BOUNDS.outagePauseMsMin * 2 ** Math.min(rounds, ROUNDS_MAX));
  const pause = Math.max(1_000, Math.floor(terms.chance * ceiling));
  const at = Math.max(now, outage.notBefore ?? 0) + pause;
  return { at: inOutage(state, terms, { at, now }), outage };
}

/**
 * At the end of the outage at the latest. Schedule 198: a request that is out and got no answer may still arrive. So
 * nothing else is asked before the run has looked for it, and it looks no earlier than it can be there.
 */
const inOutage = (state: State, { outageMaxMs }: RetryTerms, { at, now }: { at: number; now: number }): number =>
  isModelOut(state) ? at : Math.min(at, endOf(state, outageMaxMs, now));

/** Far beyond the cap. It keeps the exponent small. */
const ROUNDS_MAX = 30;

const endOf = ({ outage }: State, outageMaxMs: number, now: number): number => (outage?.since ?? now) + outageMaxMs;

/** The outage after one more failed call. The next try goes to the same model. */
function failedOnce({ outage }: State, { afterMs, asked }: RetryTerms, now: number): Outage {
  const { notBefore: _until, model: _model, alarmed: _alarmed, ...rest } = outage ?? {};
  const since = outage?.since ?? now;
  const asksFor = Math.max(outage?.notBefore ?? 0, afterMs === null ? 0 : now + afterMs);
  const isLong = outage?.alarmed === true || now - since >= BOUNDS.outageAlarmMs;
  return {
    ...rest,
    since,
    attempts: (outage?.attempts ?? 0) + 1,
    ...(asksFor > now ? { notBefore: asksFor } : {}),
    ...(asked === 0 ? {} : { model: asked }),
    ...(isLong ? { alarmed: true } : {}),
  };
}

/** The run waits before it calls its model again. */
export function withRetry(state: State, { at, outage }: OutageRetry): State {
  const { leavesOut, replyTokensMax, ...rest } = state;
  // What one model refuses, another one may take, or need.
  const isSame = (outage.model ?? 0) === (state.outage?.model ?? 0);
  return {
    ...rest,
    ...(leavesOut !== undefined && isSame ? { leavesOut } : {}),
    ...(replyTokensMax !== undefined && isSame ? { replyTokensMax } : {}),
    phase: "RetryingLLM",
    retryAt: at,
    modelRetries: state.modelRetries + 1,
    outage,
  };
}

/** The failure of a run whose models did not answer for too long. */
export function modelUnavailable({ outage }: State, last: Failure, now: number): Failure {
  const { since, attempts } = outage ?? { since: now, attempts: 0 };
  const [lasted, calls] = [spanWords(now - since), attempts + 1];
  const message = `no model answered for ${lasted}, in ${calls} calls; the last error was ${last.code}: ${last.message}`;
  return { code: "ModelUnavailable", message };
}

function spanWords(ms: number): string {
  const [seconds, minutes, hours] = [1_000, 60_000, 3_600_000].map((unit) => Math.round(ms / unit)) as [
    number,
    number,
    number,
  ];
  if (hours >= 2) return `${hours} hours`;
  return minutes >= 2 ? `${minutes} minutes` : `${seconds} seconds`;
}

/**
 * A model answered, so the outage is over. If a fallback answered, it stays the first choice for some minutes: each
 * call to a provider that is down would cost the quick retries again.
 */
export function endOutage(state: State, at: number): State {
  const { outage, fallback, failedSummaries: _, ...rest } = state;
  if (outage === undefined && fallback === undefined) return state.failedSummaries === undefined ? state : rest;
  const model = outage?.model ?? 0;
  if (model > 0) return { ...rest, modelRetries: 0, fallback: { model, until: at + BOUNDS.fallbackMs } };
  const isKept = outage === undefined && fallback !== undefined && at < fallback.until;
  return { ...rest, modelRetries: 0, ...(isKept ? { fallback } : {}) };
}

/** When a run that was woken may try again, in epoch milliseconds; null: not sooner than it had planned. */
export function earlierTryAt({ phase, outage, retryAt }: State, now: number): number | null {
  if (phase !== "RetryingLLM" || outage === undefined || outage.attempts <= BOUNDS.modelRetriesMax) return null;
  const at = Math.max(now, outage.notBefore ?? 0);
  return at < (retryAt ?? 0) ? at : null;
}
