/**
 * The rate limit of a model, which all runs of a deployment share. It only delays model calls: no run fails by it, and
 * no call is lost.
 *
 * A limit is kept as the time until which it is used up, so it is one number however many calls there are. A call moves
 * that time on by its share of a minute. It may leave once the time is at most `BURST_MS` ahead.
 */

/** What a provider allows for one model. */
export interface ModelRate {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
}

/** By the names of models. */
export type ModelRates = Readonly<Record<string, ModelRate>>;

/** Until when each limit is used up, epoch milliseconds. */
export interface UsedUntil {
  readonly requests: number;
  readonly tokens: number;
}

/** Calls of this time may leave at once. Each minute is this much longer, so that a burst does not exceed the limit. */
const BURST_MS = 5_000;
const MINUTE_MS = 60_000 + BURST_MS;

/** `at`: when the call may leave, at most `patienceMs` from now. Or the time at which another one may ask again. */
export type RateOutcome =
  | { readonly kind: "leaves"; readonly at: number; readonly after: UsedUntil }
  | { readonly kind: "later"; readonly at: number };

/** Decides when a call of about `tokens` tokens may leave. `used` null: no call left before. */
export function decideModelCall(
  used: UsedUntil | null,
  {
    rate,
    tokens,
    now,
    patienceMs,
  }: { readonly rate: ModelRate; readonly tokens: number; readonly now: number; readonly patienceMs: number },
): RateOutcome {
  const { requests, tokens: tokensUsed } = used ?? { requests: 0, tokens: 0 };
  const at = Math.max(now, requests - BURST_MS, tokensUsed - BURST_MS);
  if (at > now + patienceMs) return { kind: "later", at };
  const after = {
    requests: Math.max(now, requests) + shareOf(1, rate.requestsPerMinute),
    tokens: Math.max(now, tokensUsed) + shareOf(tokens, rate.tokensPerMinute),
  };
  return { kind: "leaves", at, after };
}

/** The part of a minute that `count` of `perMinute` takes, in milliseconds; 0 where there is no limit. */
const shareOf = (count: number, perMinute: number | undefined): number =>
  perMinute === undefined ? 0 : Math.ceil((count * MINUTE_MS) / perMinute);
