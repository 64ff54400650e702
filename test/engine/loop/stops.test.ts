/** Runs that have to stop: why, what their models are asked then, and what they end with. */
import { describe, expect, test } from "vitest";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import {
  type Conversation,
  type ScriptedReply,
  check,
  childTool,
  defineAgent,
  scriptedModel,
  tool,
} from "../../../src/index.ts";
import type { State } from "../../../src/core/state.ts";
import { SegmentCache, load } from "../../../src/history/load.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, createHarness } from "../../support/harness/harness.ts";

type Options = Partial<Parameters<typeof defineAgent>[0]>;

const mustStop = ({ messages }: Conversation): boolean =>
  messages.at(-1)?.text.startsWith("You have to stop now") === true;
const POLL: ScriptedReply = { calls: [{ tool: "poll", args: { of: "order" } }], tokensIn: 100, tokensOut: 0 };
const LAST: ScriptedReply = { text: "Polled; the order is still open.", tokensIn: 50, tokensOut: 10 };

/** Polls until it has to stop; `asked` is what its model was asked each time. */
function poller(options: Options & { readonly result?: () => unknown; readonly last?: () => ScriptedReply } = {}) {
  const { result: polled = () => "open", last = () => LAST, ...rest } = options;
  const asked: LanguageModelV4CallOptions[] = [];
  const scripted = scriptedModel({ name: "poller", reply: (harness) => (mustStop(harness) ? last() : POLL) });
  const model: LanguageModelV4 = {
    ...scripted,
    doGenerate: (call) => {
      asked.push(call);
      return scripted.doGenerate(call);
    },
  };
  const agent = defineAgent({
    ...{ name: "poller", version: "1", instructions: "", task: z.object({}), model },
    tools: { poll: tool({ input: z.object({ of: z.string() }), effect: "none", run: polled }) },
    ...rest,
  }) as Agent;
  return { agent, asked };
}

async function outcomeOf(agent: Agent, harness: Harness = createHarness()) {
  const { world } = harness;
  const runner = runnerOf(world, agent);
  const reply = await harness.advanceUntilSettled(beginRun(world, agent, {}).then((payload) => drive(runner, payload)));
  const { run } = reply;
  const events = (await timeline(world, { run, after: 0 })) ?? [];
  const { state } = await load(world, harness.row(run), new SegmentCache());
  return { reply, shown: await show(world, run), events, state, calls: (await ledger(world, run)) ?? [] };
}

const wordsIn = ({ messages }: State): string => JSON.stringify(messages.at(-1)?.parts);

describe("a run in a loop", () => {
  test("is stopped: its model makes a closing call, and the run fails with that code and text", async () => {
    const { agent, asked } = poller();
    const { shown, events, state } = await outcomeOf(agent);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "Runaway" }, beats: 3 });
    expect(shown?.failure?.message).toContain("Its last words: Polled; the order is still open.");
    expect(wordsIn(state)).toContain("the order is still open");
    expect(asked).toHaveLength(4);
    const kinds = events.map(({ kind }) => kind);
    expect(kinds.slice(kinds.indexOf("CrackSignalled"))).toEqual([
      ...["CrackSignalled", "RecoveryDecided", "ModelCallCompleted", "BudgetDebited", "RunEnded"],
    ]);
    const signalled = events.find(({ kind }) => kind === "CrackSignalled");
    expect(signalled).toMatchObject({ crack: "runaway", why: expect.stringContaining("3 were of poll") });
    // What was paid for is counted, and it is no beat.
    expect(shown?.spent).toMatchObject({ tokensIn: 350, tokensOut: 10 });
  });

  test("runs no calls of its closing reply", async () => {
    const { agent, asked } = poller({ last: () => POLL });
    const { shown, calls } = await outcomeOf(agent);
    expect(asked.map(({ toolChoice }) => toolChoice?.type)).toEqual([undefined, undefined, undefined, "none"]);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "Runaway" } });
    expect(shown?.failure?.message).not.toContain("last words");
    expect(calls).toHaveLength(3);
  });

  test("makes no second closing call when the model fails", async () => {
    const { agent, asked } = poller({
      last: () => {
        throw Object.assign(new TypeError("fetch failed"), { cause: undefined });
      },
    });
    const { shown, events } = await outcomeOf(agent);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "Runaway" } });
    expect(asked).toHaveLength(4);
    const decided = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event] : []));
    expect(decided.map(({ rule }) => rule)).toEqual(["loop detector", "stops without a closing reply"]);
    expect(decided.at(-1)?.why).toContain("fetch failed");
  });

  test("makes no second closing call when the model times out, and its possible cost is debited", async () => {
    const { agent, asked } = poller({ last: () => ({ ...LAST, delayMs: 1e9 }) });
    const { shown, events } = await outcomeOf(agent);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "Runaway" } });
    expect(asked).toHaveLength(4);
    expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
  });

  test("continues if its agent allows it, or if its polls make progress", async () => {
    let percent = 0;
    for (const options of [{ loops: "ignore" } as const, { result: () => (percent += 1) }]) {
      const { shown } = await outcomeOf(poller({ ...options, budget: { beats: 7 } }).agent);
      expect(shown).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 7 });
    }
    expect(() => poller({ loops: "never" as never })).toThrow(AgentInvalid);
  });

  /** Asks for another thing each time, and gets an error each time. */
  async function failing({ tools = {}, ...options }: Options = {}, of: Partial<Parameters<typeof tool>[0]> = {}) {
    let asked = 0;
    const input = z.object({ n: z.number() });
    const run = () => {
      throw new Error(`no order ${asked}`);
    };
    const next = () => ({ calls: [{ tool: "find", args: { n: (asked += 1) } }] });
    const agent = defineAgent({
      ...{ name: "finder", version: "1", instructions: "", task: z.object({}), budget: { beats: 20 } },
      tools: { find: tool({ input, effect: "none", run, ...of } as never), ...tools },
      model: scriptedModel({ name: "finder", reply: (harness) => (mustStop(harness) ? LAST : next()) }),
      ...options,
    }) as Agent;
    return outcomeOf(agent);
  }

  test("of errors is stopped after eight replies, or as many as its agent says", async () => {
    const stops = async (options: Options) => (await failing(options)).shown;
    expect(await stops({})).toMatchObject({ failure: { code: "Runaway" }, beats: 8 });
    expect(await stops({ loops: { failures: 3 } })).toMatchObject({ failure: { code: "Runaway" }, beats: 3 });
    expect(await stops({ loops: { failures: 30 } })).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 20 });
    expect(await stops({ loops: "ignore" })).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 20 });
  });

  test("of errors continues if its tool expects them, and tries of one call count once", async () => {
    expect((await failing({}, { loops: "ignore" })).shown).toMatchObject({ failure: { code: "BudgetExhausted" } });
    const retried = await failing({ loops: { failures: 4 } }, { retry: { attempts: 3 } });
    expect(retried.shown).toMatchObject({ failure: { code: "Runaway" }, beats: 4 });
  });

  test.each([1, 101, 2.5, "8", null])("is not allowed to fail %j times", (failures) => {
    expect(() => poller({ loops: { failures } as never })).toThrow(
      /write "stop", "ignore" or \{ failures: 2 to 100 \}/,
    );
  });

  test("of refusals is stopped as well, where a child tool hands out what its agent does not take", async () => {
    const hand = childTool({
      ...{ agent: "finder", description: "", input: z.object({ n: z.number() }), budget: { beats: 1 } },
    });
    // The child is the agent itself, which takes no such task.
    const { shown, calls } = await failing({
      task: z.strictObject({}),
      tools: { hand },
      model: scriptedModel({
        name: "boss",
        reply: (harness) =>
          mustStop(harness)
            ? LAST
            : { calls: [1, 2, 3].map((n) => ({ tool: "hand", args: { n: n + 10 * harness.calls.length } })) },
      }),
    });
    expect(shown).toMatchObject({ failure: { code: "Runaway" }, beats: 8 });
    expect(calls).toHaveLength(24);
  });
});

describe("a run whose budget is exhausted", () => {
  const price = { inUsd: 10, outUsd: 10 };

  test("makes a closing call if it is affordable, which counts as no beat", async () => {
    const { agent, asked } = poller({ loops: "ignore", budget: { beats: 2, usd: 1 }, price });
    const { shown } = await outcomeOf(agent);
    expect(shown).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 2 });
    expect(shown?.failure?.message).toContain(
      "2 of 2 beats are used; raise beats in the agent's budget and maxBeats of its topology",
    );
    expect(shown?.failure?.message).toContain("Its last words: Polled");
    expect(asked).toHaveLength(3);
  });

  test.each([
    ["money", { usd: 0.002 }],
    ["tokens", { tokens: 200 }],
    // There is a little left, and less than last words are taken to cost.
    ["beats, and nearly its money", { beats: 2, usd: 0.003 }],
  ])("makes no closing call otherwise: %s", async (_, budget) => {
    const { agent, asked } = poller({ loops: "ignore", budget, price });
    const { shown, events } = await outcomeOf(agent);
    expect(shown).toMatchObject({ failure: { code: "BudgetExhausted" }, beats: 2 });
    expect(shown?.failure?.message).not.toContain("last words");
    expect(asked).toHaveLength(2);
    const why = "NoLastWords: the budget does not allow the closing call: with it ";
    expect(events.at(-2)).toMatchObject({ rule: "stops without a closing reply", why: expect.stringContaining(why) });
  });
});

test("a model that stops too early raises the signal and gets a message", async () => {
  const done = [check("has-order", () => false)];
  const agent = poller({ done, last: () => LAST }).agent;
  const model = scriptedModel({ name: "early", reply: () => ({ text: "I am done." }) });
  const { shown, events } = await outcomeOf({ ...agent, model });
  expect(shown).toMatchObject({ failure: { code: "NotDone" } });
  const signals = events.flatMap((event) => (event.kind === "CrackSignalled" ? [event] : []));
  expect(signals).toHaveLength(4);
  expect(signals[0]).toMatchObject({ crack: "prematureStop", why: expect.stringContaining("has-order") });
});

describe("the watchdog of a run", () => {
  const slow = { beatMs: 300_000, modelMs: 200_000 };

  function waiting({ hardIdleMs, limits = slow }: { readonly hardIdleMs?: number; readonly limits?: object } = {}) {
    const records: { readonly what: string; readonly detail: object }[] = [];
    const harness = createHarness(limits);
    const world = {
      ...harness.world,
      telemetry: { record: (each: (typeof records)[number]) => void records.push(each) },
    };
    const { agent } = poller(hardIdleMs === undefined ? {} : { hardIdleMs });
    let asked = 0;
    const model = scriptedModel({
      name: "slow",
      reply: () => {
        asked += 1;
        return { text: "late", delayMs: 1e9 };
      },
    });
    return { harness: { ...harness, world } as Harness, records, agent: { ...agent, model }, asked: () => asked };
  }

  test("reports once that it still waits for its model, and writes nothing", async () => {
    const { harness, records, agent } = waiting();
    const { reply, events } = await outcomeOf(agent, harness);
    expect(reply.route).toBe("wait");
    const stuck = records.filter(({ what }) => what === "PhaseStuck");
    expect(stuck.map(({ detail }) => detail)).toEqual([
      { phase: "AwaitingLLM", label: "waiting for the model", seconds: 90 },
    ]);
    expect(events.map(({ kind }) => kind)).toEqual([
      ...["RunStarted", "ModelCallLost", "BudgetDebited", "RecoveryDecided"],
    ]);
  });

  test("reports it before the call times out, also under the limits that a world has by default", async () => {
    const { harness, records, agent } = waiting({ limits: limitsFor(60_000) });
    const { reply, events } = await outcomeOf(agent, harness);
    expect(reply.route).toBe("wait");
    expect(records.filter(({ what }) => what === "PhaseStuck")).toMatchObject([{ detail: { seconds: 40 } }]);
    expect(events.find(({ kind }) => kind === "ModelCallLost")).toBeDefined();
  });

  test("gives up a model call at the agent's limit, and the run ends with that code without another call", async () => {
    const { harness, agent, asked } = waiting({ hardIdleMs: 120_000 });
    const { shown, events } = await outcomeOf(agent, harness);
    expect(shown).toMatchObject({
      status: "failed",
      failure: { code: "HardIdleTimeout", message: "no reply within 120000 ms" },
    });
    expect(events.find(({ kind }) => kind === "RecoveryDecided")).toMatchObject({ rule: "hard idle timeout" });
    expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
    expect(asked()).toBe(1);
  });

  test.each([0, -5, 1.5])("refuses %s as a time", (hardIdleMs) => {
    expect(() => poller({ hardIdleMs })).toThrow(/hardIdleMs .*write a positive whole number/);
  });
});
