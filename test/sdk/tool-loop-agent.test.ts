/** Agents of the AI SDK on cairn's loop. The class stands for `ToolLoopAgent` of `ai`, which has this shape. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fromToolLoopAgent, scriptedModel, tool } from "../../src/index.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { ledger, show } from "../../src/operations/views.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { createHarness, dieInTool } from "../support/harness/harness.ts";

class ToolLoopAgent {
  readonly version = "agent-v1";
  readonly settings: Readonly<Record<string, unknown>>;

  constructor(settings: Readonly<Record<string, unknown>>) {
    this.settings = settings;
  }

  get tools(): object {
    return (this.settings["tools"] ?? {}) as object;
  }
}

const model = scriptedModel({
  name: "script",
  reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: { to: "Oslo" } }] } : { text: "done" }),
});

const OPTIONS = { name: "guide", version: "1", task: z.object({}) };

/** An agent with one tool, and what its `execute` got. */
function guide(change: object = {}, part: object = {}) {
  const got: { readonly input: unknown; readonly options: object }[] = [];
  const act = {
    description: "Acts.",
    inputSchema: z.object({ to: z.string() }),
    execute: async (input: unknown, options: object) => {
      got.push({ input, options });
      return "acted";
    },
    ...part,
  };
  const theirs = new ToolLoopAgent({ model, instructions: "Be brief.", tools: { act }, ...change });
  const made = (options: object = { effects: { act: "keyed" } }): Agent =>
    fromToolLoopAgent(theirs, { ...OPTIONS, ...options }) as Agent;
  return { made, got };
}

describe("an agent of the AI SDK", () => {
  test("runs on cairn's loop, and its tool gets the idempotency key as the ID of the call", async () => {
    const harness = createHarness();
    const { made, got } = guide({ toolsContext: { act: { tenant: "ada" } } });
    const payload = await beginRun(harness.world, made(), {});
    const { run } = await harness.advanceUntilSettled(drive(runnerOf(harness.world, made()), payload));
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "done" });
    const [entry] = (await ledger(harness.world, run)) ?? [];
    expect(entry).toMatchObject({ tool: "act", effect: "keyed", status: "succeeded" });
    const options = {
      toolCallId: entry?.key,
      messages: [],
      abortSignal: expect.any(AbortSignal),
      context: { tenant: "ada" },
    };
    expect(got).toMatchObject([{ input: { to: "Oslo" }, options }]);
  });

  test("repeats a call with its key after the process died in it", async () => {
    const harness = createHarness();
    const { made, got } = guide();
    const agent = made();
    const payload = await beginRun(harness.world, agent, {});
    const toolCallId = await dieInTool(harness, { payload, agent });
    await attemptBeat(runnerOf(harness.world, agent), payload, 1);
    expect(got).toMatchObject([{ options: { toolCallId } }]);
  });

  test("keeps its instructions and settings, and has 20 beats", () => {
    const system = [
      { role: "system", content: "Be brief." },
      { role: "system", content: "Be kind." },
    ];
    const settings = { temperature: 0.3, maxOutputTokens: 50, providerOptions: { openai: { user: "ada" } } };
    const agent = guide({ instructions: system, ...settings, maxRetries: 2, id: "x" }).made();
    expect(agent).toMatchObject({ instructions: "Be brief.\n\nBe kind.", modelOptions: settings });
    expect(agent.topology.maxBeats).toBe(20);
    expect(agent.tools["act"]).toMatchObject({ description: "Acts.", effect: "keyed", approval: "never" });
  });

  test("has unsafe tools unless it says otherwise, and approvals where the AI SDK has them", () => {
    expect(guide().made({}).tools["act"]?.effect).toBe("unsafe");
    expect(guide({}, { needsApproval: true }).made().tools["act"]?.approval).toBe("always");
    expect(guide({}, { needsApproval: () => false }).made().tools["act"]?.approval).toBeTypeOf("function");
  });

  test.each<[unknown, boolean]>([
    [true, true],
    ["it is a large sum", true],
    [1, true],
    [false, false],
    ["", false],
    [undefined, false],
  ])("asks a human where needsApproval returns %o, as the AI SDK does: %s", async (returned, isAsked) => {
    const { approval } = guide({}, { needsApproval: async () => returned }).made().tools["act"] ?? {};
    if (typeof approval !== "function") throw new Error("its approval is no rule");
    const reason = await approval({}, { run: "r", task: {}, restart: 1 } as never);
    expect(reason !== false).toBe(isAsked);
  });

  test("may have a tool of cairn in place of its own", () => {
    const act = tool({ input: z.object({}), effect: "none", run: () => null });
    expect(guide().made({ tools: { act } }).tools["act"]?.effect).toBe("none");
  });

  test("takes the last of the results that a tool yields", async () => {
    async function* execute() {
      yield "half";
      yield "whole";
    }
    const { act } = guide({}, { execute }).made().tools;
    expect(await act?.run({ input: {}, signal: new AbortController().signal } as never)).toBe("whole");
  });

  test.each([
    ["a callback that would never be called", { onError: () => undefined }, {}, "the setting onError"],
    ["a callback that is no function", { onStepEnd: 4 }, {}, "agent guide has onStepEnd 4: write a function"],
    ["active tools that are no list", { activeTools: "act" }, {}, 'agent guide has activeTools "act": write a list'],
    ["an order that is no list", { toolOrder: 1 }, {}, "agent guide has toolOrder 1: write a list"],
    ["a choice that there is not", { toolChoice: "x" }, {}, 'agent guide has toolChoice "x": write "auto" or'],
    [
      "a choice of a tool that it lacks",
      { toolChoice: { type: "tool", toolName: "no" } },
      {},
      'agent guide has toolChoice "no"',
    ],
    ["a time that is a text", { timeout: "1s" }, {}, 'agent guide has timeout "1s": write a number of milliseconds'],
    ["no model", { model: undefined }, {}, "agent guide has no model: write a model"],
    ["a tool that is nothing", { tools: { act: null } }, {}, "tool act of agent guide is null: write tool({ ... })"],
    ["a text as execute", {}, { execute: "run" }, 'tool act of agent guide has execute "run": write a function'],
    [
      "a text as needsApproval",
      {},
      { needsApproval: "yes" },
      'has needsApproval "yes": write true or false or a function',
    ],
    ["an effect of a question", {}, { execute: undefined }, "has no execute"],
  ])("with %s is refused", (_, change, part, why) => {
    expect(() => guide(change, part).made()).toThrow(AgentInvalid);
    expect(() => guide(change, part).made()).toThrow(why);
  });

  test("with an effect of a tool that it has not, or that is no agent, is refused", () => {
    expect(() => guide().made({ effects: { other: "none" } })).toThrow("and no such tool");
    expect(() => fromToolLoopAgent({}, OPTIONS)).toThrow("is made of no ToolLoopAgent");
    expect(() => fromToolLoopAgent(undefined as never, OPTIONS)).toThrow("is made of no ToolLoopAgent");
  });
});
