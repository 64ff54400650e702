/** Money and tokens: added up exactly, compared with the limit, shown with the digits that matter. */
import { describe, expect, test } from "vitest";
import { type Budget, NOTHING_SPENT, add, exhausted, microUsdOf, usd } from "../../src/core/budget.ts";

const FREE: Budget = { microUsd: null, tokens: null, beats: 10, takeovers: 3 };
const spent = { tokensIn: 60, tokensOut: 40, microUsd: 500_000, beats: 2, toolCalls: 7 };

describe("what is left", () => {
  test("of no limit is always something; beats always have one", () => {
    expect(exhausted(NOTHING_SPENT, FREE)).toBeNull();
    expect(exhausted({ ...spent, tokensIn: 1e12, microUsd: 1e12 }, FREE)).toBeNull();
    expect(exhausted({ ...spent, beats: 9 }, FREE)).toBeNull();
    expect(exhausted({ ...spent, beats: 10 }, FREE)).toBe("10 of 10 beats are used");
  });

  test("of money is nothing when the limit is reached, not only when it is passed", () => {
    expect(exhausted(spent, { ...FREE, microUsd: 500_001 })).toBeNull();
    expect(exhausted(spent, { ...FREE, microUsd: 500_000 })).toBe("$0.50 of $0.50 is spent");
    expect(exhausted({ ...spent, microUsd: 500_042 }, { ...FREE, microUsd: 500_000 })).toBe(
      "$0.500042 of $0.50 is spent",
    );
  });

  test("of tokens counts input and output together", () => {
    expect(exhausted(spent, { ...FREE, tokens: 101 })).toBeNull();
    expect(exhausted(spent, { ...FREE, tokens: 100 })).toBe("100 of 100 tokens are used");
  });

  test("a limit of zero leaves no room for a first beat", () => {
    expect(exhausted(NOTHING_SPENT, { ...FREE, microUsd: 0 })).toBe("$0.00 of $0.00 is spent");
    expect(exhausted(NOTHING_SPENT, { ...FREE, tokens: 0 })).toBe("0 of 0 tokens are used");
  });
});

describe("adding up", () => {
  test("takes each meter that the debit names and leaves the others", () => {
    expect(add(spent, { tokensOut: 2, toolCalls: 1 })).toEqual({ ...spent, tokensOut: 42, toolCalls: 8 });
    expect(add(spent, {})).toEqual(spent);
    expect(add(NOTHING_SPENT, spent)).toEqual(spent);
  });
});

describe("a price", () => {
  test("in dollars per million tokens is micro-dollars per token", () => {
    expect(microUsdOf({ inUsd: 3, outUsd: 15 }, 1_000, 200)).toBe(6_000);
    expect(microUsdOf({ inUsd: 0, outUsd: 0 }, 1_000, 200)).toBe(0);
  });

  test("is rounded up, never down", () => {
    expect(microUsdOf({ inUsd: 0.15, outUsd: 0 }, 1, 0)).toBe(1);
    expect(microUsdOf({ inUsd: 0.15, outUsd: 0.6 }, 10, 1)).toBe(3);
  });
});

describe("dollars", () => {
  test.each([
    [0, "0.00"],
    [1, "0.000001"],
    [4_200, "0.0042"],
    [10_000, "0.01"],
    [170_000, "0.17"],
    [1_000_000, "1.00"],
    [1_100_000, "1.10"],
    [1_234_567, "1.234567"],
    [1_234_500, "1.2345"],
    [12_000_000_000, "12000.00"],
  ])("%i micro-dollars are $%s", (micro, shown) => {
    expect(usd(micro)).toBe(shown);
  });

  test("whole cents always have two digits, and nothing is lost of any amount", () => {
    for (let cents = 0; cents < 20_000; cents += 1) expect(usd(cents * 10_000)).toMatch(/^\d+\.\d\d$/);
    for (let micro = 0; micro < 20_000; micro += 7) expect(Math.round(Number(usd(micro)) * 1e6)).toBe(micro);
  });
});
