/**
 * Statements about safety: effects, idempotency keys, rows, fencing, budgets, lost runs.
 *
 * A test that failed because an event did not come in time is played once more, since the machine may have been slow. A
 * statement about safety has no second try: one duplicated effect in two tries is what such a test exists to find. So a
 * checker throws a `SafetyViolation`, which the runner of the tests knows (`scripts/verify/failures.ts`).
 */
import { setTimeout as elapse } from "node:timers/promises";
import { LIMITS } from "./limits.ts";

/** A statement about safety that does not hold. It refuses the test run at once, whatever a second try says. */
export class SafetyViolation extends Error {
  override readonly name = "SafetyViolation";
}

/** An event that did not come within its limit. The only kind of failure besides timeouts that is played again. */
export class MissingEvent extends Error {
  override readonly name = "MissingEvent";
}

/**
 * Throws a `MissingEvent` unless what the test needs came about, such as a kill that met a beat at work. Without it the
 * test shows nothing: that is no defect of what it tests, and no success either.
 */
export function requireEvent(what: string, cameAbout: boolean): void {
  if (!cameAbout) throw new MissingEvent(`it did not come about that ${what}`);
}

/** Throws a `SafetyViolation` that lists what a checker found, if it found anything. */
export function assertNoViolations(violations: readonly string[]): void {
  if (violations.length > 0) throw new SafetyViolation(violations.join("\n"));
}

/** Runs assertions about safety: if one fails, its error is the cause of a `SafetyViolation`. */
export function assertSafety<T>(claim: string, assertions: () => T): T {
  try {
    return assertions();
  } catch (error) {
    throw new SafetyViolation(`${claim}: ${(error as Error).message}`, { cause: error });
  }
}

const POLL_MS = 10;
const POLL_MS_MAX = 1_000;
/** A question over HTTP keeps two processes busy. So a wait sleeps for several times as long as it asks. */
const REST = 8;

const pauseAfter = (askedMs: number): Promise<void> => elapse(Math.min(Math.max(POLL_MS, REST * askedMs), POLL_MS_MAX));

/**
 * Waits until something happened `count` times, such as an effect. If it happened more often, that is a
 * `SafetyViolation` at once; if it did not happen within the limit, a `MissingEvent`. Use it instead of `expect.poll`,
 * whose failure is taken for an event that did not come.
 */
export async function waitForCount(
  what: string,
  count: number,
  read: () => number | Promise<number>,
  withinMs: number = LIMITS.eventMs,
): Promise<void> {
  const begun = performance.now();
  for (;;) {
    const asked = performance.now();
    const found = await read();
    if (found > count) throw new SafetyViolation(`${what} happened ${found} times, not ${count}`);
    if (found === count) return;
    if (performance.now() - begun > withinMs) {
      throw new MissingEvent(`${what} happened ${found} times within ${withinMs} ms, not yet ${count}`);
    }
    await pauseAfter(performance.now() - asked);
  }
}

/**
 * Waits until the expectation holds, and returns what it returns. Unlike `expect.poll`, it works in concurrent tests, and
 * beside timers that the test has replaced; unlike `vi.waitFor`, what it throws at the end is a `MissingEvent`. A
 * statement about safety that does not hold ends the wait at once.
 */
export async function waitUntil<T>(expectation: () => T | Promise<T>, withinMs: number = LIMITS.runMs): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const asked = performance.now();
    try {
      return await expectation();
    } catch (error) {
      if (error instanceof SafetyViolation) throw error;
      if (performance.now() - begun > withinMs) {
        const why = error instanceof Error ? error.message : String(error);
        throw new MissingEvent(`not so within ${withinMs} ms: ${why}`, { cause: error });
      }
    }
    await pauseAfter(performance.now() - asked);
  }
}
