/** The rate limit of a model: when a call may leave. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type UsedUntil, decideModelCall } from "../../src/protocol/model-rate.ts";

const NOW = 1_700_000_000_000;

/** When the calls leave that ask at these times, each with these tokens. A call that has to wait asks again. */
function leaveTimes(
  calls: readonly { readonly afterMs: number; readonly tokens: number }[],
  rate: Parameters<typeof decideModelCall>[1]["rate"],
): readonly { readonly at: number; readonly tokens: number }[] {
  let used: UsedUntil | null = null;
  let now = NOW;
  return calls.map(({ afterMs, tokens }) => {
    now += afterMs;
    for (;;) {
      const outcome = decideModelCall(used, { rate, tokens, now, patienceMs: 1_000 });
      if (outcome.kind === "leaves") {
        used = outcome.after;
        return { at: outcome.at, tokens };
      }
      now = outcome.at;
    }
  });
}

const calls = fc.array(fc.record({ afterMs: fc.nat(20_000), tokens: fc.integer({ min: 1, max: 50 }) }), {
  minLength: 1,
  maxLength: 60,
});

describe("the rate limit of a model", () => {
  it("lets no more requests leave within any minute than it allows", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 1, max: 40 }), (asked, requestsPerMinute) => {
        const left = leaveTimes(asked, { requestsPerMinute });
        for (const { at } of left)
          expect(left.filter((each) => each.at >= at && each.at < at + 60_000).length).toBeLessThanOrEqual(
            requestsPerMinute,
          );
      }),
    );
  });

  it("lets no more tokens leave within any minute than it allows, and those of one call", () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: 50, max: 400 }), (asked, tokensPerMinute) => {
        const left = leaveTimes(asked, { tokensPerMinute });
        for (const { at } of left) {
          const within = left.filter((each) => each.at >= at && each.at < at + 60_000);
          const [last] = within.slice(-1);
          const sum = within.reduce((all, { tokens }) => all + tokens, 0);
          expect(sum - (last?.tokens ?? 0)).toBeLessThanOrEqual(tokensPerMinute);
        }
      }),
    );
  });

  it("delays no call below the limit, and without one delays none", () => {
    const seldom = Array.from({ length: 20 }, () => ({ afterMs: 7_000, tokens: 1 }));
    expect(leaveTimes(seldom, { requestsPerMinute: 10 }).map(({ at }) => at)).toEqual(
      seldom.map((_, index) => NOW + 7_000 * (index + 1)),
    );
    const atOnce = Array.from({ length: 20 }, () => ({ afterMs: 0, tokens: 9 }));
    expect(new Set(leaveTimes(atOnce, {}).map(({ at }) => at)).size).toBe(1);
  });

  it("names the time at which a call may ask again if it may not wait so long", () => {
    const first = decideModelCall(null, { rate: { requestsPerMinute: 1 }, tokens: 0, now: NOW, patienceMs: 0 });
    expect(first).toMatchObject({ kind: "leaves", at: NOW });
    const used = first.kind === "leaves" ? first.after : null;
    const again = { rate: { requestsPerMinute: 1 }, tokens: 0, now: NOW + 1_000 };
    expect(decideModelCall(used, { ...again, patienceMs: 58_999 })).toEqual({ kind: "later", at: NOW + 60_000 });
    expect(decideModelCall(used, { ...again, patienceMs: 59_000 })).toMatchObject({ kind: "leaves", at: NOW + 60_000 });
  });
});
