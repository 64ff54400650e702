/** Money and tokens: added up exactly, compared with the limit, shown with the digits that matter. */
import { describe, expect, test } from "vitest";
import { microUsdOf } from "../../src/core/policy/price.ts";
import { exhaustedMeter, missingGrant, reservedBy, usd, withGrants } from "../../src/core/policy/spending.ts";
import {
  type Budget,
  NOTHING_SPENT,
  add,
  addGrant,
  limitedIn,
  metersOf,
  withoutReserved,
} from "../../src/core/policy/budget.ts";
import { IN_PHASE } from "../support/states/states-and-events.ts";

const NONE = { microUsd: null, tokens: null, toolCalls: null, wallMs: null };
const FREE: Budget = { ...NONE, beats: 10, takeovers: 3, onExhausted: "stop" };
const spent = { tokensIn: 60, tokensOut: 40, microUsd: 500_000, beats: 2, toolCalls: 7 };

describe("the remaining budget", () => {
  test("without a limit is never exhausted; beats always have a limit", () => {
    expect(exhaustedMeter(NOTHING_SPENT, FREE)).toBeNull();
    expect(exhaustedMeter({ ...spent, tokensIn: 1e12, microUsd: 1e12 }, FREE)).toBeNull();
    expect(exhaustedMeter({ ...spent, beats: 9 }, FREE)).toBeNull();
    expect(exhaustedMeter({ ...spent, beats: 10 }, FREE)).toBe("10 of 10 beats are used");
  });

  test("of money is exhausted when the limit is reached, not only when it is exceeded", () => {
    expect(exhaustedMeter(spent, { ...FREE, microUsd: 500_001 })).toBeNull();
    expect(exhaustedMeter(spent, { ...FREE, microUsd: 500_000 })).toBe("$0.50 of $0.50 is spent");
    expect(exhaustedMeter({ ...spent, microUsd: 500_042 }, { ...FREE, microUsd: 500_000 })).toBe(
      "$0.500042 of $0.50 is spent",
    );
  });

  test("of tokens counts input and output together", () => {
    expect(exhaustedMeter(spent, { ...FREE, tokens: 101 })).toBeNull();
    expect(exhaustedMeter(spent, { ...FREE, tokens: 100 })).toBe("100 of 100 tokens are used");
  });

  test("of working time is exhausted when the limit is reached", () => {
    expect(exhaustedMeter({ ...spent, wallMs: 1_999 }, { ...FREE, wallMs: 2_000 })).toBeNull();
    expect(exhaustedMeter({ ...spent, wallMs: 2_500 }, { ...FREE, wallMs: 2_000 })).toBe(
      "2.5 of 2 seconds at work are used",
    );
  });

  test("of tool calls is checked only when calls are to be released", () => {
    const limited = { ...FREE, toolCalls: 9 };
    expect(exhaustedMeter(spent, { ...FREE, toolCalls: 7 })).toBeNull();
    expect(exhaustedMeter(spent, limited, 2)).toBeNull();
    expect(exhaustedMeter(spent, limited, 3)).toBe("7 of 9 tool calls are used, and more are asked for");
    expect(exhaustedMeter({ ...spent, beats: 10 }, limited, 2)).toBeNull();
  });

  test("increases by a grant for each meter that has a limit", () => {
    const more = withGrants({ ...FREE, tokens: 100 }, { granted: { tokens: 5, microUsd: 7 } });
    expect(more).toEqual({ ...NONE, beats: 10, tokens: 105 });
    expect(addGrant({ beats: 1, tokens: 2 }, { beats: 3, wallMs: 4 })).toEqual({ beats: 4, tokens: 2, wallMs: 4 });
  });

  test("with a limit of zero allows no first beat", () => {
    expect(exhaustedMeter(NOTHING_SPENT, { ...FREE, microUsd: 0 })).toBe("$0.00 of $0.00 is spent");
    expect(exhaustedMeter(NOTHING_SPENT, { ...FREE, tokens: 0 })).toBe("0 of 0 tokens are used");
  });
});

describe("the grant of a child", () => {
  const limits = { ...FREE, microUsd: 500_010, tokens: 90 };

  test("fits as long as so much is free, to the unit", () => {
    expect(missingGrant(spent, limits, { beats: 8, microUsd: 10 })).toBeNull();
    expect(missingGrant(spent, limits, { beats: 9 })).toBe("it takes 9 of beats, and 8 are free");
    expect(missingGrant(spent, limits, { microUsd: 11 })).toBe("it takes 11 of microUsd, and 10 are free");
  });

  test("needs no room in a meter without a limit, and finds none in one that is overdrawn", () => {
    expect(missingGrant(spent, limits, { wallMs: 1e12, toolCalls: 1e6 })).toBeNull();
    expect(missingGrant(spent, limits, { tokens: 1 })).toBe("it takes 1 of tokens, and 0 are free");
  });

  test("is reserved until the child has spent it, and not at all for one that is left alone", () => {
    const [child] = IN_PHASE.AwaitingChildren().children;
    if (child === undefined) throw new Error("its run waits for a child");
    const children = [
      { ...child, grant: { beats: 2, tokens: 5 } },
      { ...child, grant: { beats: 3 } },
      { ...child, grant: { beats: 90 }, left: true as const },
    ];
    const reserved = reservedBy({ children });
    expect(reserved).toEqual({ beats: 5, tokens: 5 });
    expect(withoutReserved(limits, reserved)).toEqual({ ...NONE, beats: 5, microUsd: 500_010, tokens: 85 });
    expect(withoutReserved(limits, { beats: 11 })).toMatchObject({ beats: 0 });
  });

  test("names the meters that have a limit", () => {
    expect(limitedIn(limits)).toEqual({ beats: 10, microUsd: 500_010, tokens: 90 });
  });
});

test("the meters of an amount are those that it has, in the order of the report", () => {
  expect(metersOf({ wallMs: 3, tokensIn: 1, toolCalls: 0 })).toEqual([
    ["tokensIn", 1],
    ["toolCalls", 0],
    ["wallMs", 3],
  ]);
});

describe("a debit", () => {
  test("adds to each meter that it names and leaves the others", () => {
    expect(add(spent, { tokensOut: 2, toolCalls: 1 })).toEqual({ ...spent, tokensOut: 42, toolCalls: 8 });
    expect(add(spent, {})).toEqual(spent);
    expect(add(NOTHING_SPENT, spent)).toStrictEqual(spent);
    expect(add(spent, { beats: 1 })).not.toHaveProperty("wallMs");
    expect(add(spent, { wallMs: 3 })).toEqual({ ...spent, wallMs: 3 });
    expect(add({ ...spent, wallMs: 3 }, { beats: 1 })).toEqual({ ...spent, beats: 3, wallMs: 3 });
  });
});

describe("a price", () => {
  test("in dollars per million tokens is micro-dollars per token", () => {
    expect(microUsdOf({ inUsd: 3, outUsd: 15 }, { tokensIn: 1_000, tokensOut: 200 })).toBe(6_000);
    expect(microUsdOf({ inUsd: 0, outUsd: 0 }, { tokensIn: 1_000, tokensOut: 200 })).toBe(0);
  });

  test("is rounded up, never down", () => {
    expect(microUsdOf({ inUsd: 0.15, outUsd: 0 }, { tokensIn: 1, tokensOut: 0 })).toBe(1);
    expect(microUsdOf({ inUsd: 0.15, outUsd: 0.6 }, { tokensIn: 10, tokensOut: 1 })).toBe(3);
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

  test("have two digits for whole cents, and lose nothing of any amount", () => {
    for (let cents = 0; cents < 20_000; cents += 1) expect(usd(cents * 10_000)).toMatch(/^\d+\.\d\d$/);
    for (let micro = 0; micro < 20_000; micro += 7) expect(Math.round(Number(usd(micro)) * 1e6)).toBe(micro);
  });
});
