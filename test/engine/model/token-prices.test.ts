/** Tokens of a cache and of reasoning, from the provider's report to the debit of the run. */
import { expect, test } from "vitest";
import { z } from "zod";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { priceWords } from "../../../src/sdk/prices.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";

const PRICE = { inUsd: 4, outUsd: 20, cacheReadUsd: 1, cacheWriteUsd: 5, reasoningUsd: 10 };

test("what a provider reports of its cache and of reasoning is debited at its own price", async () => {
  const { world } = createHarness();
  const model = scriptedModel({ name: "script", reply: () => ({ text: "done" }) });
  const doGenerate: LanguageModelV4["doGenerate"] = async (options) => ({
    ...(await model.doGenerate(options)),
    usage: {
      inputTokens: { total: 1_000, noCache: 200, cacheRead: 600, cacheWrite: 200 },
      outputTokens: { total: 100, text: 40, reasoning: 60 },
    },
  });
  const agent = defineAgent({
    ...{ name: "thinker", version: "1", instructions: "", tools: {}, task: z.object({}) },
    model: { ...model, doGenerate },
    price: PRICE,
  }) as Agent;
  const { run } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  const spent = { tokensIn: 1_000, tokensOut: 100, microUsd: 200 * 4 + 600 + 200 * 5 + 40 * 20 + 60 * 10 };
  expect((await stateOf(world, run)).spent).toMatchObject(spent);
  expect((await stateOf(world, run)).price).toEqual(PRICE);
  expect(await show(world, run)).toMatchObject({ status: "completed" });
  const debits = ((await timeline(world, { run, after: 0 })) ?? []).filter(({ kind }) => kind === "BudgetDebited");
  expect(debits).toMatchObject([{ debit: spent }]);
  expect(priceWords(agent)).toBe(
    "$4 in, $20 out, $1 read from cache, $5 written to cache, $10 reasoning per million tokens, by the agent itself",
  );
});

/** An agent that looks again and again, with a model whose provider reports no tokens. */
function uncounted(part: object, calls = Infinity): Agent {
  const model = scriptedModel({
    name: "script",
    reply: ({ turn }) => (turn < calls ? { calls: [{ tool: "look", args: {} }] } : { text: "done" }),
  });
  const doGenerate: LanguageModelV4["doGenerate"] = async (options) => ({
    ...(await model.doGenerate(options)),
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
  });
  return defineAgent({
    ...{ name: "thinker", version: "1", instructions: "", task: z.object({}), loops: "ignore" },
    model: { ...model, doGenerate },
    tools: { look: tool({ input: z.object({}), effect: "none", run: () => "nothing" }) },
    ...part,
  }) as Agent;
}

test.each([
  ["without a price", {}],
  ["with a price of nothing", { price: { inUsd: 0, outUsd: 0 } }],
])(
  "a reply of a model %s whose provider reports no tokens is counted as reported, and is no estimate",
  async (_, part) => {
    const { world } = createHarness();
    const agent = uncounted({ ...part, budget: { beats: 9 } }, 2);
    const { run } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
    expect((await stateOf(world, run)).spent).toMatchObject({ tokensIn: 0, tokensOut: 0, microUsd: 0 });
    const events = (await timeline(world, { run, after: 0 })) ?? [];
    const debits = events.filter((event) => event.kind === "BudgetDebited" && event.debit.beats === 1);
    expect(debits.length).toBeGreaterThan(1);
    for (const debit of debits) expect(debit).toMatchObject({ for: "scripted:script" });
  },
);

test("a reply that no provider counts is estimated for a budget of tokens, and the debit says so", async () => {
  const { world } = createHarness();
  const agent = uncounted({ budget: { tokens: 2_000, beats: 50 } });
  const { run } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(await show(world, run)).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
  const first = ((await timeline(world, { run, after: 0 })) ?? []).find(({ kind }) => kind === "BudgetDebited");
  expect(first).toMatchObject({ for: "scripted:script, estimated", debit: { tokensOut: 500, beats: 1 } });
});

test("a reply whose provider reports no tokens is debited at an estimate, so that a budget ends the run", async () => {
  const { world } = createHarness();
  const agent = uncounted({ price: PRICE, budget: { usd: 0.03, beats: 50 } });
  const { run } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(await show(world, run)).toMatchObject({ status: "failed", failure: { code: "BudgetExhausted" } });
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const first = events.find(({ kind }) => kind === "BudgetDebited");
  expect(first).toMatchObject({ for: "scripted:script, estimated", debit: { tokensOut: 500, beats: 1 } });
});
