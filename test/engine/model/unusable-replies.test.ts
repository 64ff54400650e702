/** Replies that came and are none, and models that cannot be called yet: what the run does. */
import type { LanguageModelV4, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { type ScriptedReply, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { beginRun, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";
import { createChainHarness, MS } from "../../support/harness/harness.ts";

type Finish = LanguageModelV4GenerateResult["finishReason"];

/** A model whose first replies end as the list says, each with a call and a text; what follows is complete. */
function ending(finishes: readonly Finish[]): { readonly model: LanguageModelV4; readonly told: () => string[] } {
  const left = [...finishes];
  const prompts: string[] = [];
  const call: ScriptedReply = { text: "half a secr", calls: [{ tool: "pay", args: {} }], tokensIn: 100, tokensOut: 10 };
  const scripted = scriptedModel({
    name: "m",
    reply: () => (left.length > 0 ? call : { text: "in other words", tokensIn: 1, tokensOut: 1 }),
  });
  return {
    told: () => prompts,
    model: {
      ...scripted,
      doGenerate: async (options) => {
        prompts.push(JSON.stringify(options.prompt));
        const reply = await scripted.doGenerate(options);
        const finishReason = left.shift();
        return finishReason === undefined ? reply : { ...reply, finishReason };
      },
    },
  };
}

function agentWith(model: Agent["model"], more: Partial<Parameters<typeof defineAgent>[0]> = {}) {
  const payments: string[] = [];
  const pay = tool({ input: z.object({}), effect: "keyed", run: ({ key }) => payments.push(key) });
  const agent = defineAgent({
    ...{ name: "payer", version: "1", instructions: "", task: z.object({}), price: { inUsd: 10, outUsd: 10 } },
    ...{ model, tools: { pay }, ...more },
  }) as Agent;
  return { agent, payments };
}

async function outcomeOf(agent: Agent) {
  const { world } = createLocalHarness();
  const { run } = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  return await show(world, run);
}

const FILTERED: Finish = { unified: "content-filter", raw: "refusal" };

test.each<[string, Finish, string]>([
  ["a refused reply", FILTERED, "a filter stopped it, or you refused (refusal); it began: half a secr"],
  [
    "a malformed call",
    { unified: "error", raw: "MALFORMED_FUNCTION_CALL" },
    "the provider could not read a tool call in it",
  ],
])("%s is paid for, none of its calls runs, and the model is told", async (_, finish, words) => {
  const { model, told } = ending([finish]);
  const { agent, payments } = agentWith(model);
  const shown = await outcomeOf(agent);
  expect(shown).toMatchObject({ status: "completed", result: "in other words", spent: { tokensIn: 101 } });
  expect(payments).toEqual([]);
  expect(told()).toHaveLength(2);
  expect(told()[1]).toContain(`Your last reply was not taken: ${words}`);
});

test("the fourth refusal in a row ends the run", async () => {
  const { model } = ending(Array.from({ length: 9 }, () => FILTERED));
  const shown = await outcomeOf(agentWith(model).agent);
  expect(shown).toMatchObject({ status: "failed", failure: { code: "ReplyFiltered" }, spent: { tokensIn: 400 } });
});

test("a reply that the provider broke off is debited at an estimate, and asked for again", async () => {
  const harness = createChainHarness();
  const { agent, payments } = agentWith(ending([{ unified: "error", raw: undefined }]).model);
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runForTime(agent, MS.minute);
  expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "in other words" });
  expect(payments).toEqual([]);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toHaveLength(1);
});

test("a model without its key makes the run wait, and a fallback answers meanwhile", async () => {
  // A beat loads the package in real time, and the clock of the harness does not wait for it. So it is loaded first.
  await import("@ai-sdk/anthropic");
  const [waiting, answering] = [createChainHarness(), createChainHarness()];
  const alone = agentWith("anthropic:claude-opus-4-5").agent;
  const { run } = await beginRun(waiting.world, alone, {});
  await waiting.runForTime(alone, MS.minute);
  expect(waiting.row(run)).toMatchObject({ status: "running" });
  const events = (await timeline(waiting.world, { run, after: 0 })) ?? [];
  const why = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.why] : []));
  expect(why[0]).toMatch(/^ModelNotConfigured: the model anthropic:.* needs the secret ANTHROPIC_API_KEY/);
  const fallbacks = [{ model: ending([]).model, price: { inUsd: 1, outUsd: 1 } }];
  const { agent } = agentWith("anthropic:claude-opus-4-5", { fallbacks });
  const other = await beginRun(answering.world, agent, {});
  await answering.runForTime(agent, MS.minute);
  expect(await show(answering.world, other.run)).toMatchObject({ status: "completed", result: "in other words" });
});
