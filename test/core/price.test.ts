/** What a reply costs, with the parts of its tokens that have prices of their own. */
import { expect, test } from "vitest";
import { microUsdOf } from "../../src/core/policy/price.ts";

const PRICE = { inUsd: 4, outUsd: 20, cacheReadUsd: 1, cacheWriteUsd: 5, reasoningUsd: 10 };
const TOKENS = { tokensIn: 1_000, tokensOut: 100, cacheRead: 600, cacheWrite: 200, reasoning: 60 };

test("each part of the tokens has its own price", () => {
  expect(microUsdOf(PRICE, TOKENS)).toBe(200 * 4 + 600 * 1 + 200 * 5 + 40 * 20 + 60 * 10);
});

test("a part without a price costs what its whole costs", () => {
  expect(microUsdOf({ inUsd: 4, outUsd: 20 }, TOKENS)).toBe(1_000 * 4 + 100 * 20);
  expect(microUsdOf(PRICE, { tokensIn: 1_000, tokensOut: 100 })).toBe(1_000 * 4 + 100 * 20);
});

test("a part that is larger than its whole costs its own price, and nothing is negative", () => {
  const odd = { tokensIn: 100, tokensOut: 10, cacheRead: 600, reasoning: 60 };
  expect(microUsdOf(PRICE, odd)).toBe(600 * 1 + 60 * 10);
});
