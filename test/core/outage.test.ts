/** How long a run waits for a provider that is away, whom it asks meanwhile, and when it gives up. */
import { fold, foldAll } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Event, Action } from "../../src/core/event.ts";
import { isInfrastructureFailure } from "../../src/core/policy/infrastructure.ts";
import { BOUNDS } from "../../src/core/limits.ts";
import {
  type RetryTerms,
  endOutage,
  currentModel,
  earlierTryAt,
  modelUnavailable,
  withRetry,
} from "../../src/core/policy/outage.ts";
import { decideRecovery } from "../../src/core/policy/recovery.ts";
import type { State } from "../../src/core/state.ts";
import { AT, FAILURE, IN_PHASE, callPart, textPart, EVENT } from "../support/states/states-and-events.ts";
import { withDetached } from "../support/states/detached-events.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const terms = (change: Partial<RetryTerms> = {}): RetryTerms => ({
  ...{ afterMs: null, chance: 0.999, outageMaxMs: 24 * HOUR, models: 1, asked: 0 },
  ...change,
});

interface Failed {
  readonly state: State;
  readonly action: Action;
}

/** One more call fails. */
function failing(from: State, now: number, change: Partial<RetryTerms> = {}): Failed {
  const asked = currentModel(from, now);
  const event = decideRecovery(from, { kind: "model", failure: FAILURE, retry: terms({ asked, ...change }) }, now);
  return { state: fold(from, event), action: event.action };
}

/** Calls fail, each at the moment for which the one before asked, until that many have or the run gives up. */
function outage(count: number, change: Partial<RetryTerms> = {}): readonly (Failed & { readonly at: number })[] {
  const failed: (Failed & { readonly at: number })[] = [];
  let [state, at] = [IN_PHASE.AwaitingLLM(), AT];
  for (let index = 0; index < count; index += 1) {
    const next = failing(state, at, change);
    failed.push({ ...next, at });
    if (next.action.kind !== "retry") break;
    [state, at] = [next.state, next.action.at];
  }
  return failed;
}

const waitsOf = (failed: ReturnType<typeof outage>) =>
  failed.flatMap(({ action, at }) => (action.kind === "retry" ? [action.at - at] : []));

describe("the pauses of an outage", () => {
  test("double after the quick retries, up to 15 minutes", () => {
    const seconds = waitsOf(outage(14)).map((ms) => Math.round(ms / 1_000));
    expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 511, 899, 899, 899, 899]);
  });

  test("are a random part of that, and at least a second", () => {
    expect(waitsOf(outage(8, { chance: 0 })).slice(3)).toEqual([1_000, 1_000, 1_000, 1_000, 1_000]);
    expect(waitsOf(outage(6, { chance: 0.25 })).slice(3)).toEqual([2_000, 4_000, 8_000]);
  });

  test("never end before the provider's retry-after, and are spread after it", () => {
    const [first, second] = [0, 0.5].map((chance) => waitsOf(outage(4, { afterMs: 10 * MINUTE, chance })).at(-1));
    expect({ first, second }).toEqual({ first: 10 * MINUTE + 1_000, second: 10 * MINUTE + 4_000 });
  });

  test("keep the provider's retry-after when the next call fails without one", () => {
    const asked = failing(outage(4).at(-1)?.state as State, AT + MINUTE, { afterMs: HOUR });
    const silent = failing(asked.state, AT + 2 * MINUTE);
    expect(silent.action).toMatchObject({ kind: "retry", outage: { notBefore: AT + MINUTE + HOUR } });
    expect(silent.action).toMatchObject({ at: AT + MINUTE + HOUR + 15_984 * 2 });
  });
});

describe("an outage ends", () => {
  test("for the run when it has lasted as long as the agent allows: after a last try the run fails", () => {
    const failed = outage(200, { outageMaxMs: HOUR });
    const last = failed.at(-1);
    expect(last?.at).toBe(AT + HOUR);
    expect(last?.action).toMatchObject({ kind: "abort", failure: { code: "ModelUnavailable" } });
    const message = `no model answered for 60 minutes, in ${failed.length} calls; the last error was Broken: it broke`;
    expect(last?.action).toMatchObject({ failure: { message } });
  });

  test("for the run then even if the provider asks for a longer pause", () => {
    const [, last] = outage(2, { outageMaxMs: HOUR, afterMs: 24 * HOUR });
    expect({ at: last?.at, kind: last?.action.kind }).toEqual({ at: AT + HOUR, kind: "abort" });
  });

  test.each<readonly [string, Event]>([
    ["a reply", EVENT.replied([textPart("here")])],
    ["a call", EVENT.replied([callPart("book")])],
    ["a reply that is reported to the model", EVENT.decided({ kind: "nudge", text: "try again" })],
  ])("with %s: the next failure starts another outage", (_, event) => {
    const waiting = outage(9).at(-1)?.state as State;
    const over = fold(waiting, event);
    expect({ outage: over.outage, modelRetries: over.modelRetries }).toEqual({ outage: undefined, modelRetries: 0 });
    const later = AT + 30 * HOUR;
    expect(failing({ ...over, phase: "AwaitingLLM", open: [] }, later).state.outage).toEqual({
      since: later,
      attempts: 1,
    });
  });

  test("neither with a message nor with a pause and its resume: it started with its first failed call", () => {
    const waiting = outage(9).at(-1)?.state as State;
    const [spoken, back] = [[EVENT.messageReceived("hello")], [EVENT.paused, EVENT.resumed]].map((events) =>
      foldAll(waiting, events),
    );
    expect({ spoken: spoken?.outage, back: back?.outage }).toEqual({ spoken: waiting.outage, back: waiting.outage });
    expect({ spoken: spoken?.phase, back: back?.phase }).toEqual({ spoken: "RetryingLLM", back: "RetryingLLM" });
  });
});

test.each([
  [119_000, "2 minutes"],
  [89_000, "89 seconds"],
  [90_000, "2 minutes"],
  [1.4 * HOUR, "84 minutes"],
  [2 * HOUR, "2 hours"],
  [5 * HOUR, "5 hours"],
])("an outage of %d ms is described as %s", (ms, words) => {
  const state = { ...IN_PHASE.AwaitingLLM(), outage: { since: AT, attempts: 2 } };
  expect(modelUnavailable(state, FAILURE, AT + ms).message).toBe(
    `no model answered for ${words}, in 3 calls; the last error was Broken: it broke`,
  );
});

test("a failure without an earlier outage has lasted no time and taken one call", () => {
  expect(modelUnavailable(IN_PHASE.AwaitingLLM(), FAILURE, AT).message).toMatch(
    /^no model answered for 0 seconds, in 1 calls/,
  );
});

test("a provider without retry-after sets no earliest time for the next call", () => {
  expect(failing(IN_PHASE.AwaitingLLM(), AT, { afterMs: 0 }).state.outage).toEqual({ since: AT, attempts: 1 });
});

describe("the operator gets the alarm of an outage", () => {
  test("after three minutes and not only beyond, once per outage even if the clock is set back", () => {
    const first = failing(IN_PHASE.AwaitingLLM(), AT).state;
    const before = failing(first, AT + BOUNDS.outageAlarmMs - 1).state;
    expect(before.outage?.alarmed).toBeUndefined();
    const long = failing(first, AT + BOUNDS.outageAlarmMs).state;
    expect(long.outage?.alarmed).toBe(true);
    expect(failing(long, AT + MINUTE).state.outage?.alarmed).toBe(true);
  });

  test("when an outage has lasted for three minutes", () => {
    const marks = outage(12).map(({ state, at }) => [at - AT >= BOUNDS.outageAlarmMs, state.outage?.alarmed === true]);
    expect(marks.map(([isLong]) => isLong)).toEqual(marks.map(([, isTold]) => isTold));
    expect(marks.filter(([, isTold]) => isTold).length).toBeGreaterThan(2);
  });
});

describe("a wake-up of a run that waits for its model", () => {
  const waiting = (): State => outage(9).at(-1)?.state as State;

  test("makes it call the model at once", () => {
    expect(earlierTryAt(waiting(), AT + 5 * MINUTE)).toBe(AT + 5 * MINUTE);
  });

  test("makes no call before the provider's retry-after", () => {
    const { state } = failing(waiting(), AT + HOUR, { afterMs: HOUR, chance: 0.9 });
    expect(earlierTryAt(state, AT + 80 * MINUTE)).toBe(AT + 2 * HOUR);
  });

  test("changes nothing at the moment of its own retry, or after as many tries as the quick ones", () => {
    const state = waiting();
    expect(earlierTryAt(state, (state.retryAt ?? 0) - 1)).toBe((state.retryAt ?? 0) - 1);
    expect(earlierTryAt(state, state.retryAt ?? 0)).toBeNull();
    const tries = (count: number): State => ({ ...state, outage: { since: AT, attempts: count } });
    expect(earlierTryAt(tries(BOUNDS.modelRetriesMax), AT)).toBeNull();
    expect(earlierTryAt(tries(BOUNDS.modelRetriesMax + 1), AT)).toBe(AT);
    const { outage: _, ...none } = state;
    expect(earlierTryAt(none, AT)).toBeNull();
  });

  test("changes nothing when a retry is near, was made, or the run does something else", () => {
    expect(earlierTryAt(outage(2).at(-1)?.state as State, AT + 1_000)).toBeNull();
    expect(earlierTryAt(waiting(), (waiting().retryAt ?? 0) + 1)).toBeNull();
    expect(earlierTryAt({ ...waiting(), phase: "AwaitingLLM" }, AT)).toBeNull();
  });
});

describe("fallbacks", () => {
  const asked = (failed: ReturnType<typeof outage>) => failed.map(({ state, at }) => currentModel(state, at));

  test("are called at once, in order, when the quick retries have failed; then the agent's own model again", () => {
    const failed = outage(10, { models: 3 });
    expect(asked(failed)).toEqual([0, 0, 0, 1, 2, 0, 1, 2, 0, 1]);
    const seconds = waitsOf(failed).map((ms) => Math.round(ms / 1_000));
    // Between two rounds it waits, and the pause doubles with the rounds.
    expect(seconds).toEqual([1, 2, 4, 0, 0, 8, 0, 0, 16, 0]);
  });

  test("that replied are called first for some minutes, then the agent's own model", () => {
    const { state, at } = outage(5, { models: 3 }).at(-1) as Failed & { at: number };
    const endOutage = fold(state, EVENT.replied([callPart("book")], at));
    expect(endOutage).toMatchObject({ fallback: { model: 2, until: at + BOUNDS.fallbackMs }, modelRetries: 0 });
    expect(endOutage.outage).toBeUndefined();
    expect([currentModel(endOutage, at), currentModel(endOutage, at + BOUNDS.fallbackMs)]).toEqual([2, 0]);
    const between = { ...endOutage, phase: "AwaitingLLM", open: [] } as const;
    const kept = fold(between, EVENT.replied([callPart("book")], at + MINUTE));
    expect(kept.fallback).toEqual(endOutage.fallback);
    expect(fold(between, EVENT.replied([callPart("book")], at + BOUNDS.fallbackMs)).fallback).toBeUndefined();
  });

  test("are asked with the whole request, and the same model without what it refused", () => {
    const refused: State = { ...IN_PHASE.AwaitingLLM(), leavesOut: true, replyTokensMax: 9 };
    const again = withRetry(refused, { at: AT + 5, outage: { since: AT, attempts: 1 } });
    expect(again).toMatchObject({ phase: "RetryingLLM", retryAt: AT + 5, modelRetries: 1, leavesOut: true });
    expect(again.replyTokensMax).toBe(9);
    const other = withRetry(again, { at: AT + 9, outage: { since: AT, attempts: 2, model: 1 } });
    expect(other).not.toHaveProperty("leavesOut");
    expect(other).not.toHaveProperty("replyTokensMax");
    const whole = withRetry(IN_PHASE.AwaitingLLM(), { at: AT + 5, outage: { since: AT, attempts: 1 } });
    expect({ leavesOut: "leavesOut" in whole, replyTokensMax: "replyTokensMax" in whole }).toEqual({
      leavesOut: false,
      replyTokensMax: false,
    });
    // The second fallback keeps what it refused itself.
    const second: State = { ...refused, outage: { since: AT, attempts: 2, model: 1 } };
    expect(withRetry(second, { at: AT + 9, outage: { since: AT, attempts: 3, model: 1 } }).leavesOut).toBe(true);
  });

  test("leave a state without outage or fallback unchanged after a reply", () => {
    const state = IN_PHASE.AwaitingLLM();
    expect(endOutage(state, AT)).toBe(state);
  });

  test("are not called first when the own model failed once and then replied", () => {
    const fallback = { model: 1, until: AT + HOUR };
    const state: State = { ...IN_PHASE.AwaitingLLM(), fallback, outage: { since: AT, attempts: 1 } };
    expect(endOutage(state, AT)).not.toHaveProperty("fallback");
    const { fallback: _, ...without } = state;
    expect(endOutage(without, AT)).not.toHaveProperty("fallback");
  });

  test("are not called while a job's start is unresolved, which is looked for no earlier than it can be there", () => {
    const now = AT + HOUR - 1_000;
    for (const modelRetries of [0, BOUNDS.modelRetriesMax]) {
      for (const model of [0, 1]) {
        const outage = { since: AT, attempts: modelRetries, ...(model > 0 && { model }) };
        const state = withDetached({ ...IN_PHASE.AwaitingLLM(), modelRetries, outage });
        const next = failing(state, now, { models: 3, afterMs: MINUTE, outageMaxMs: HOUR });
        expect(next.action).toMatchObject({ kind: "retry", at: expect.toSatisfy((at: number) => at >= now + MINUTE) });
        expect(currentModel(next.state, now)).toBe(model);
      }
    }
  });

  test("that are unavailable have quick retries of their own", () => {
    const { state, at } = outage(4, { models: 2 }).at(-1) as Failed & { at: number };
    const endOutage = {
      ...fold(state, EVENT.replied([callPart("book")], at)),
      phase: "AwaitingLLM",
      open: [],
    } as const;
    const next = failing(endOutage, at + MINUTE, { models: 2 });
    expect(next.action).toMatchObject({ at: at + MINUTE + 1_000, outage: { model: 1, attempts: 1 } });
  });
});

test("infrastructure failures are in one list, which contains no failure caused by the run itself", () => {
  const codes = ["ModelUnavailable", "HardIdleTimeout", "CrashLoop", "Abandoned", "Expired"];
  expect(codes.every((code) => isInfrastructureFailure({ code, message: "" }))).toBe(true);
  const own = [
    "BudgetExhausted",
    "Runaway",
    "NotDone",
    "ModelRefused",
    "ContextTooLong",
    "ModelFailed",
    "OutcomeUnknown",
  ];
  expect(own.some((code) => isInfrastructureFailure({ code, message: "" }))).toBe(false);
});
