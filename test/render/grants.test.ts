/** Grants of more budget in words, and what to type for the one that a gate asks for. */
import { expect, test } from "vitest";
import { type BudgetLimits, NOTHING_SPENT } from "../../src/core/policy/budget.ts";
import type { OpenGate } from "../../src/operations/views.ts";
import { askedFor, grantWords } from "../../src/render/grants.ts";

const NO_LIMITS: BudgetLimits = { beats: null, microUsd: null, tokens: null, wallMs: null, toolCalls: null };
const gate = (args: unknown): OpenGate => ({ args }) as OpenGate;

test("a grant is said with its units, as much as is granted", () => {
  expect(grantWords({ microUsd: 2_000_000, beats: 20, wallMs: 90_000 })).toBe("$2.00, 20 beats, 1m30s at work");
  expect(grantWords({})).toBe("");
});

test("what to type grants each exhausted budget as much again as its limit", () => {
  const limits = { ...NO_LIMITS, beats: 10, microUsd: 20_000, tokens: 1_000 };
  const spent = { ...NOTHING_SPENT, beats: 10, microUsd: 25_000, tokens: 10 };
  expect(askedFor(gate({ spent, limits, calls: 0 }))).toEqual(["--beats", "10", "--usd", "0.02"]);
});

test("calls that wait need room for all of them, also beyond the limit", () => {
  const limits = { ...NO_LIMITS, toolCalls: 2 };
  const spent = { ...NOTHING_SPENT, toolCalls: 2 };
  expect(askedFor(gate({ spent, limits, calls: 5 }))).toEqual(["--tool-calls", "5"]);
});
