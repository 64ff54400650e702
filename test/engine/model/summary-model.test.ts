/** Runs whose summaries another model writes: what it is asked, what it costs, and what happens when it fails. */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import { namedModelsOf } from "../../../src/ports/named-models.ts";
import type { TimelineEntry } from "../../../src/operations/views.ts";
import { type Conversation, type ScriptedReply, scriptedModel } from "../../../src/index.ts";
import { receiptOf } from "../../../src/history/receipt.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import {
  type SmallContextOptions,
  SUMMARY,
  smallContextAgent,
  tooLong,
} from "../../support/agents/small-context-agent.ts";
import { beginRun } from "../../support/harness/drive.ts";
import { createChainHarness, neverSettles } from "../../support/harness/harness.ts";

const CHEAP = "scripted:cheap";
const OWN = "scripted:narrow";
const HOUR = 3_600_000;

interface Options extends SmallContextOptions {
  readonly cheap?: (count: number, conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>;
  readonly instructions?: string;
}

/** An agent that reads pages, and whose summaries a model called cheap writes. */
function savingAgent({ cheap = () => SUMMARY, instructions, ...of }: Options) {
  const asked: Conversation[] = [];
  const model = scriptedModel({
    name: "cheap",
    reply: (conversation) => {
      asked.push(conversation);
      return cheap(asked.length, conversation);
    },
  });
  const price = { inUsd: 1_000, outUsd: 1_000 };
  const made = smallContextAgent({
    ...of,
    options: {
      price,
      models: { cheap: { model, price: { inUsd: 1, outUsd: 1 } } },
      ...of.options,
      context: { model: "cheap", ...(instructions === undefined ? {} : { instructions }), ...of.options?.context },
    },
  });
  return { ...made, cheapAsked: asked };
}

async function outcomeOf({ agent }: ReturnType<typeof smallContextAgent>) {
  const harness = createChainHarness();
  const { world } = harness;
  const { run } = await beginRun(world, agent, {});
  await harness.runForTime(agent, HOUR);
  const events: readonly TimelineEntry[] = (await timeline(world, { run, after: 0 })) ?? [];
  const { state } = await load(world, harness.row(run), new SegmentCache());
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  const summaries = events.flatMap((event) => (event.kind === "Compacted" ? [event] : []));
  expect(await verify(world, { run })).toMatchObject({ findings: [] });
  const { lines } = receiptOf(events);
  return { shown: await show(world, run), events, rules, summaries, state, lines };
}

const COMPACT = "context too long, not yet compacted";
const AGAIN = "model of summaries failed, may be asked again";
const LEFT = "model of summaries failed, the working model summarises";
const reset = (): Error => Object.assign(new Error("reset"), { code: "ECONNRESET" });
const refused = (): Error =>
  new APICallError({
    ...{ message: "no such model", url: "http://model.test", requestBodyValues: {} },
    ...{ statusCode: 404, isRetryable: false },
  });
const throttled = (seconds: number): Error =>
  new APICallError({
    ...{ message: "slow down", url: "http://model.test", requestBodyValues: {}, statusCode: 429 },
    ...{ responseHeaders: { "retry-after": String(seconds) } },
  });

describe("a model for summaries", () => {
  test("writes them at its own price, under its own name, and the working model is asked for none", async () => {
    const made = savingAgent({ pages: 3 });
    const { shown, rules, summaries, lines } = await outcomeOf(made);
    expect(shown).toMatchObject({ status: "completed", result: "all is read", beats: 4 });
    expect({ rules, summaries: made.counts.summaries, cheapAsked: made.cheapAsked.length }).toEqual({
      rules: [COMPACT, COMPACT],
      summaries: 0,
      cheapAsked: 2,
    });
    expect(summaries[0]).toMatchObject({
      model: CHEAP,
      routed: { by: "role", why: "context.model names it for summaries" },
      replaced: { from: "m2", to: "m3", messages: 2 },
      tokens: 7,
    });
    // 154 tokens at a dollar a million; those of the working model cost a thousand times as much.
    expect(lines.find((line) => line.for === CHEAP)).toMatchObject({ times: 2, usd: 0.000154, tokensIn: 140 });
    expect(lines.find((line) => line.for === OWN)).toMatchObject({ times: 4, tokensIn: 400 });
  });

  test("is told what a summary has to contain, if the agent says it", async () => {
    const made = savingAgent({ pages: 2, instructions: "Only the numbers of the pages." });
    await outcomeOf(made);
    const question = made.cheapAsked[0]?.messages.at(-1)?.text ?? "";
    expect(question).toMatch(/^Your context has to be made shorter.*: Only the numbers of the pages\. Call no tool/s);
    expect(question).not.toContain("what persons asked for");
  });

  test("that does not answer is called three times more, then the working model writes the summary", async () => {
    const made = savingAgent({
      pages: 3,
      cheap: () => {
        throw reset();
      },
    });
    const { shown, rules, summaries, state } = await outcomeOf(made);
    expect(shown?.status).toBe("completed");
    const once = [COMPACT, AGAIN, AGAIN, AGAIN, LEFT];
    expect(rules).toEqual([...once, ...once]);
    expect(summaries.map(({ model }) => model)).toEqual([OWN, OWN]);
    expect({ summaries: made.counts.summaries, cheapAsked: made.cheapAsked.length }).toEqual({
      summaries: 2,
      cheapAsked: 8,
    });
    expect(state.failedSummaries).toBeUndefined();
  });

  test("that answers again within its retries writes the summary", async () => {
    const made = savingAgent({
      pages: 2,
      cheap: (count) => {
        if (count < 3) throw throttled(5);
        return SUMMARY;
      },
    });
    const { rules, summaries, events } = await outcomeOf(made);
    expect({ rules, summaries: summaries.map(({ model }) => model) }).toEqual({
      rules: [COMPACT, AGAIN, AGAIN],
      summaries: [CHEAP],
    });
    const waits = events.flatMap((event) =>
      event.kind === "RecoveryDecided" && event.action.kind === "compact" && event.action.at !== undefined
        ? [event.action.at - event.at]
        : [],
    );
    expect(waits).toEqual([5_000, 5_000]);
  });

  test.each<readonly [string, () => ScriptedReply | Promise<ScriptedReply>, string, number]>([
    ["refuses the request", () => Promise.reject(refused()), "no such model", 0],
    ["cannot read so much", () => Promise.reject(tooLong()), "prompt is too long: 8200 tokens", 0],
    ["asks for a long wait", () => Promise.reject(throttled(60)), "slow down", 0],
    ["writes an empty summary", () => ({ text: " ", tokensIn: 70, tokensOut: 7 }), "the summary is empty", 1],
    [
      "writes a summary that is longer than what it replaces",
      () => ({ text: "x".repeat(9_000), tokensIn: 70, tokensOut: 7 }),
      "the summary has 9000 characters",
      1,
    ],
  ])("that %s is replaced by the working model at once, and what it cost is counted", async (_, cheap, why, times) => {
    const made = savingAgent({ pages: 2, cheap });
    const { shown, rules, summaries, events, lines } = await outcomeOf(made);
    expect({ status: shown?.status, rules, summaries: summaries.map(({ model }) => model) }).toEqual({
      status: "completed",
      rules: [COMPACT, LEFT],
      summaries: [OWN],
    });
    const left = events.find((event) => event.kind === "RecoveryDecided" && event.rule === LEFT);
    expect(left).toMatchObject({ why: expect.stringContaining(`${CHEAP}: `) });
    expect(left).toMatchObject({ why: expect.stringContaining(why) });
    expect(lines.find((line) => line.for === CHEAP)?.times ?? 0).toBe(times);
  });

  test("that never replies costs what a lost call is taken to cost, and the working model writes at last", async () => {
    const made = savingAgent({ pages: 2, cheap: neverSettles });
    const { shown, rules, summaries, events } = await outcomeOf(made);
    expect({ status: shown?.status, summaries: summaries.map(({ model }) => model) }).toEqual({
      status: "completed",
      summaries: [OWN],
    });
    expect(rules).toEqual([COMPACT, AGAIN, AGAIN, AGAIN, LEFT]);
    expect(events.filter(({ kind }) => kind === "ModelCallLost")).toHaveLength(4);
  });

  test("is called although the working model is replaced by a fallback", async () => {
    const fallback = smallContextAgent({ pages: 3 }).agent.model;
    let asked = 0;
    const made = savingAgent({
      pages: 3,
      refuses: () => false,
      reply: () => {
        asked += 1;
        if (asked > 1) throw reset();
        return null;
      },
      options: { fallbacks: [{ model: fallback, price: { inUsd: 1, outUsd: 1 } }] },
    });
    const { shown, summaries } = await outcomeOf(made);
    expect(shown?.status).toBe("completed");
    expect(summaries.length).toBeGreaterThan(0);
    expect(new Set(summaries.map(({ model }) => model))).toEqual(new Set([CHEAP]));
  });
});

describe("a working model that is asked for the summary after all", () => {
  test("lets the run wait as ContextTooLong if its own summary is of no use", async () => {
    const made = savingAgent({
      pages: 2,
      cheap: () => Promise.reject(refused()),
      summary: () => ({ text: " ", tokensIn: 70, tokensOut: 7 }),
    });
    const { shown, rules } = await outcomeOf(made);
    expect(shown?.waitsFor).toMatchObject({ code: "ContextTooLong", why: expect.stringContaining("is empty") });
    expect(rules).toEqual([COMPACT, LEFT, "the provider refuses the request"]);
  });

  test("has its own retries, and the model of summaries is not called again meanwhile", async () => {
    const made = savingAgent({
      pages: 2,
      // It would answer a second request, which must not come.
      cheap: (count) => (count === 1 ? Promise.reject(refused()) : SUMMARY),
      summary: (count) => {
        if (count === 1) throw reset();
        return SUMMARY;
      },
    });
    const { shown, rules } = await outcomeOf(made);
    expect({ status: shown?.status, cheapAsked: made.cheapAsked.length }).toEqual({
      status: "completed",
      cheapAsked: 1,
    });
    expect(rules).toEqual([COMPACT, LEFT, "model failed, may be asked again", COMPACT]);
  });
});

describe("the context options", () => {
  const given = (context: object, models?: object) =>
    smallContextAgent({ options: { context, ...(models === undefined ? {} : { models }) } } as SmallContextOptions)
      .agent;

  test("take a model in place, with a price or from the price lists, and doctor sees its provider", () => {
    const agent = given({ model: "anthropic:claude-haiku-4-5" });
    expect(agent.summaries).toEqual({ model: "context.model" });
    expect(agent.models?.["context.model"]).toMatchObject({ priceFrom: { kind: "table" } });
    expect(namedModelsOf(agent).map(({ name, secret }) => ({ name, secret }))).toEqual([
      { name: "anthropic:claude-haiku-4-5", secret: "ANTHROPIC_API_KEY" },
    ]);
    const price = { inUsd: 1, outUsd: 2 };
    const priced = given({ model: { model: "anthropic:claude-haiku-4-5", price } });
    expect(priced.models?.["context.model"]).toMatchObject({ price, priceFrom: { kind: "agent" } });
  });

  test("take a name of the agent's models, and stay absent without any", () => {
    const agent = given({ model: "cheap" }, { cheap: "anthropic:claude-haiku-4-5" });
    expect({ summaries: agent.summaries, models: Object.keys(agent.models ?? {}) }).toEqual({
      summaries: { model: "cheap" },
      models: ["cheap"],
    });
    expect(given({ tokensMax: 9 })).not.toHaveProperty("summaries");
    expect(given({ instructions: "Names." }).summaries).toEqual({ instructions: "Names." });
  });

  test.each<readonly [object, string]>([
    [{ model: "cheap" }, 'the agent has no such model: write models: { "cheap": ... }'],
    [{ model: "" }, "model: write a name of its models, or a model"],
    [{ model: 7 }, "model: write a name of its models, or a model"],
    [{ instructions: " " }, "instructions: "],
    [{ instructions: "x".repeat(20_001) }, "instructions: "],
    [{ tokenMax: 9 }, "tokenMax"],
  ])("are refused if they are %o", (context, why) => {
    expect(() => given(context)).toThrow(AgentInvalid);
    expect(() => given(context)).toThrow(why);
  });
});
