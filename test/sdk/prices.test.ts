/** List prices have a date and a source, and decide what an agent is charged when no other price does. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { checkMoney } from "../../src/sdk/check.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { LIST_PRICES, type Prices, listPriceOf, priceWords, pricedBy } from "../../src/sdk/prices.ts";
import { AgentInvalid, defineAgent } from "../../src/index.ts";

const agent = (model: string, more: Partial<Parameters<typeof defineAgent>[0]> = {}) =>
  defineAgent({ name: "a", version: "1", instructions: "", task: z.object({}), tools: {}, model, ...more }) as Agent;
const checked = (of: Agent): void => checkMoney(of);

const hosted = (model: string) => `openai-compatible:http://host/v1#${model}`;

test("each price has a source and a date, and no model has two prices", () => {
  for (const { source, lookedAt, inUsd, outUsd } of LIST_PRICES) {
    expect(source).toMatch(/^https:\/\/[a-z.]*(anthropic|claude|openai)\.com\//);
    expect(new Date(lookedAt).toISOString().slice(0, 10)).toBe(lookedAt);
    expect(outUsd).toBeGreaterThanOrEqual(inUsd);
    expect(inUsd).toBeGreaterThan(0);
  }
  expect(new Set(LIST_PRICES.map(({ model }) => model)).size).toBe(LIST_PRICES.length);
});

describe("the price of a model", () => {
  test("is found by its name, with or without a release date", () => {
    const listed = { inUsd: 5, outUsd: 25 };
    expect(listPriceOf(hosted("claude-opus-4-5")).price).toEqual(listed);
    expect(listPriceOf(hosted("claude-opus-4-5-20251101")).price).toEqual(listed);
    expect(agent(hosted("claude-opus-4-5"), { budget: { usd: 1 } }).price).toEqual(listed);
    expect(listPriceOf("anthropic:claude-opus-4-5-20251101").price).toEqual(listed);
  });

  test("on Bedrock is not that of its maker", () => {
    const model = "bedrock:us.anthropic.claude-opus-4-5-20251101-v1:0";
    expect(listPriceOf(model).priceFrom).toEqual({ kind: "none" });
    const ours = { [model.slice("bedrock:".length)]: { inUsd: 6, outUsd: 30 } };
    expect(pricedBy(agent(model), ours).price).toEqual({ inUsd: 6, outUsd: 30 });
  });

  test("is the agent's own price when it has one", () => {
    const price = { inUsd: 0.5, outUsd: 1 };
    expect(agent(hosted("claude-opus-4-5"), { price }).price).toEqual(price);
  });

  test.each(["claude-opus-4", "claude-opus-4-55", "my-claude-opus-4-5", "constructor", ""])(
    "of %o is not guessed, and a budget of money is refused",
    (model) => {
      expect(listPriceOf(hosted(model)).priceFrom).toEqual({ kind: "none" });
      expect(() => checked(agent(hosted(model), { budget: { usd: 1 } }))).toThrow(AgentInvalid);
      expect(() => checked(agent(hosted(model), { budget: { usd: 1 } }))).toThrow(/budget of money and no price/);
      expect(() => checked(agent(hosted(model), { budget: { tokens: 1 } }))).not.toThrow();
      expect(agent(hosted(model)).price).toEqual({ inUsd: 0, outUsd: 0 });
    },
  );
});

describe("the prices of cairn.config.ts", () => {
  const prices: Prices = {
    "claude-opus-4-5": { inUsd: 4, outUsd: 20, source: "contract 7", lookedAt: "2026-11-01" },
    "claude-haiku-4-5-20251001": { inUsd: 0.9, outUsd: 4 },
    "our-own": { inUsd: 0.1, outUsd: 0.2 },
  };
  const price = { inUsd: 7, outUsd: 8 };

  test.each<[string, Agent, object, string]>([
    ["what an agent says itself", agent(hosted("claude-opus-4-5"), { price }), price, ", by the agent itself"],
    [
      "the config before the list, with its page and its day",
      agent(hosted("claude-opus-4-5-20251101")),
      { inUsd: 4, outUsd: 20 },
      ", by cairn.config.ts, contract 7, 2026-11-01",
    ],
    [
      "the very name of a model",
      agent(hosted("claude-haiku-4-5-20251001")),
      { inUsd: 0.9, outUsd: 4 },
      ", by cairn.config.ts",
    ],
    ["the list", agent(hosted("claude-haiku-4-5")), { inUsd: 1, outUsd: 5 }, "by the list of cairn, https://platform"],
    ["nothing", agent(hosted("constructor")), { inUsd: 0, outUsd: 0 }, "no price is known"],
  ])("%s counts", (_, of, expected, words) => {
    const priced = pricedBy(of, prices);
    expect(priced.price).toEqual(expected);
    expect(priceWords(priced)).toContain(words);
  });

  test("allow a budget of money for an agent whose model is in no list", () => {
    const own = agent(hosted("our-own"), { budget: { usd: 1 } });
    expect(() => checked(own)).toThrow(/prices: { MODEL/);
    expect(() => checked(pricedBy(own, prices))).not.toThrow();
  });
});
