/**
 * How many requests a tenant may send in a second and in a minute of the clock. The use of both is one small record, so
 * all processes share it. Several requests that wait in one process are decided together.
 */

/** An absent limit does not exist. */
export interface RequestLimits {
  readonly requestsPerSecond?: number;
  readonly requestsPerMinute?: number;
}

interface Window {
  /** When it began, epoch milliseconds. */
  readonly from: number;
  readonly used: number;
}

export interface UsedRequests {
  readonly second: Window;
  readonly minute: Window;
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** `accepted`: how many of the requests fit. `retryAt`: when the others may ask again, epoch milliseconds. */
export interface RequestsDecided {
  readonly accepted: number;
  readonly next: UsedRequests;
  readonly retryAt: number;
}

/** Decides about `count` requests that ask at the same time. `used` null: none came before. */
export function decideRequests(
  used: UsedRequests | null,
  { count, now, limits }: { readonly count: number; readonly now: number; readonly limits: RequestLimits },
): RequestsDecided {
  const { requestsPerSecond = Infinity, requestsPerMinute = Infinity } = limits;
  const second = windowAt(used?.second, { now, lengthMs: SECOND_MS });
  const minute = windowAt(used?.minute, { now, lengthMs: MINUTE_MS });
  const leftOfMinute = Math.max(0, requestsPerMinute - minute.used);
  const accepted = Math.min(count, Math.max(0, requestsPerSecond - second.used), leftOfMinute);
  const next = {
    second: { ...second, used: second.used + accepted },
    minute: { ...minute, used: minute.used + accepted },
  };
  const isMinuteUsed = leftOfMinute - accepted <= 0;
  return { accepted, next, retryAt: isMinuteUsed ? minute.from + MINUTE_MS : second.from + SECOND_MS };
}

/** A clock that goes back opens no window again. */
function windowAt(
  window: Window | undefined,
  { now, lengthMs }: { readonly now: number; readonly lengthMs: number },
): Window {
  const from = Math.floor(now / lengthMs) * lengthMs;
  return window === undefined || window.from < from ? { from, used: 0 } : window;
}
