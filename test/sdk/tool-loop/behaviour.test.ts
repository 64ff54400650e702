/** Agents of the installed AI SDK, as their authors write them: each setting does on cairn's loop what it says. */
import { type JSONSchema7, Output, ToolLoopAgent, hasToolCall, isStepCount, jsonSchema, tool as aiTool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fromToolLoopAgent } from "../../../src/index.ts";
import { stateAt } from "../../../src/history/state-at.ts";
import { AgentInvalid } from "../../../src/ports/agent-invalid.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { runAgent, scriptedModel } from "../../../src/testing/kit/index.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { createHarness } from "../../support/harness/harness.ts";

type Model = ReturnType<typeof scriptedModel>;
type Request = Parameters<Model["doGenerate"]>[0];
type Settings = ConstructorParameters<typeof ToolLoopAgent>[0];

/** A model that calls `act` as often as it is asked to, and the requests that it got. */
function noting(calls: number, of: { readonly text?: string; readonly args?: object } = {}) {
  const { text = "done", args = { to: "Oslo" } } = of;
  const requests: Request[] = [];
  const script = scriptedModel({
    name: "script",
    reply: ({ calls: made }) => (made.length < calls ? { calls: [{ tool: "act", args }] } : { text }),
  });
  const doGenerate: Model["doGenerate"] = (request) => {
    requests.push(request);
    return script.doGenerate(request);
  };
  const { doStream: _, ...rest } = script;
  return { model: { ...rest, doGenerate } as unknown as Model, requests };
}

const act = aiTool({
  description: "Acts.",
  inputSchema: z.object({ to: z.string() }),
  execute: async ({ to }) => `in ${to}`,
});
const other = aiTool({ inputSchema: z.object({}), execute: async () => "other" });

function agentWith(settings: object, options: object = {}): Agent {
  const given = { instructions: "Be brief.", tools: { act, other }, ...settings } as unknown as Settings;
  const base = {
    name: "guide",
    version: "1",
    task: z.object({}),
    effects: { act: "none", other: "none" },
    loops: "ignore",
  };
  return fromToolLoopAgent(new ToolLoopAgent(given), { ...base, ...options } as never) as Agent;
}

const systemOf = ({ prompt: [first] }: Request): string => (first?.role === "system" ? first.content : "");

describe("stopWhen", () => {
  test.each([
    ["isStepCount(2)", isStepCount(2), 2],
    ["hasToolCall of the tool", hasToolCall("act"), 1],
    ["a list, of which one holds", [isStepCount(9), isStepCount(3)], 3],
  ])("ends the run after %s, without another call", async (_, stopWhen, steps) => {
    const { model, requests } = noting(20);
    const run = await runAgent(agentWith({ model, stopWhen }), { input: {} });
    expect(run.status).toBe("completed");
    expect(requests).toHaveLength(steps);
    expect(run.calls).toHaveLength(steps);
  });

  test("is not asked after a reply without calls", async () => {
    const { model, requests } = noting(0);
    const stopWhen = () => {
      throw new Error("asked");
    };
    const run = await runAgent(agentWith({ model, stopWhen }), { input: {} });
    expect({ status: run.status, result: run.result, requests: requests.length }).toEqual({
      status: "completed",
      result: "done",
      requests: 1,
    });
  });
});

describe("prepareStep", () => {
  const long = `Look around. ${"x".repeat(500)}`;
  const prepareStep = ({ stepNumber }: { readonly stepNumber: number }) =>
    stepNumber === 0
      ? { toolChoice: { type: "tool", toolName: "act" }, activeTools: ["act"], temperature: 0.1 }
      : { instructions: long, toolOrder: ["other"] };

  test("decides about each call", async () => {
    const { model, requests } = noting(2);
    await runAgent(agentWith({ model, prepareStep }), { input: {} });
    const seen = requests.map((request) => ({
      system: systemOf(request).slice(0, 12),
      tools: request.tools?.map(({ name }) => name),
      toolChoice: request.toolChoice,
      temperature: request.temperature,
    }));
    const later = { system: "Look around.", tools: ["other", "act"], toolChoice: undefined, temperature: undefined };
    expect(seen).toEqual([
      { system: "Be brief.", tools: ["act"], toolChoice: { type: "tool", toolName: "act" }, temperature: 0.1 },
      later,
      later,
    ]);
  });

  test("carries its instructions forward to later steps", async () => {
    const { model, requests } = noting(2);
    const once = ({ stepNumber }: { readonly stepNumber: number }) =>
      stepNumber === 1 ? { instructions: "New." } : {};
    await runAgent(agentWith({ model, prepareStep: once }), { input: {} });
    expect(requests.map(systemOf)).toEqual(["Be brief.", "New.", "New."]);
  });

  test("may use none of the calls: a call of a tool that was not offered is refused", async () => {
    const { model } = noting(1);
    const run = await runAgent(agentWith({ model, prepareStep: () => ({ activeTools: ["other"] }) }), { input: {} });
    expect(run.calls.map(({ tool, status }) => `${tool} ${status}`)).toEqual(["act failed"]);
  });

  test("is recorded: long instructions as an object, of which the state has the digest", async () => {
    const harness = createHarness();
    const { model } = noting(1);
    const agent = agentWith({ model, prepareStep });
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    await harness.runUntilIdle(agent);
    const row = harness.row(run);
    const state = (await stateAt(harness.world, row, row.version))?.state;
    expect(state?.phase).toBe("Completed");
    expect(state?.chosen?.choice.instructions).toMatchObject({
      kind: "blob",
      bytes: long.length + 2,
      head: "",
      tail: "",
    });
    expect(JSON.stringify(state)).not.toContain("xxxx");
  });

  test.each(["after:model#1", "after:model#2"] as const)(
    "makes the same request again after a process died %s, although it would choose something else by then",
    async (killAt) => {
      const { model, requests } = noting(1);
      let asked = 0;
      const prepareStep = () => ({
        instructions: `choice ${(asked += 1)} ${"y".repeat(200)}`,
        temperature: asked / 10,
      });
      const run = await runAgent(agentWith({ model, prepareStep }), { input: {}, killAt });
      expect(run.status).toBe("completed");
      const seen = requests.map((request) => `${systemOf(request).slice(0, 8)} ${request.temperature}`);
      const [first, second] = ["choice 1 0.1", "choice 2 0.2"];
      expect(seen).toEqual(killAt === "after:model#1" ? [first, first, second] : [first, second, second]);
    },
  );

  test.each([
    ["messages", { messages: [] }, "prepareStep returned messages"],
    ["a model that the agent does not declare", { model: noting(0).model }, null],
    ["another model", { model: "openai:gpt-9" }, "write models: { NAME: model }"],
    ["a tool that there is not", { activeTools: ["none"] }, 'the agent has no tool "none"'],
    ["an option of a wrong type", { temperature: "warm" }, "temperature"],
  ])("that returns %s fails the run with the reason, unless it is the agent's own", async (_, made, why) => {
    const run = await runAgent(agentWith({ model: noting(0).model, prepareStep: () => made }), { input: {} });
    if (why === null) expect(run.status).toBe("completed");
    else expect(run.failure).toMatchObject({ code: "ChoiceFailed", message: expect.stringContaining(why) });
  });

  test("may choose a model that the agent declares", async () => {
    const [own, large] = [noting(1), noting(1, { text: "by the large one" })];
    const named = { ...large.model, modelId: "large" } as Model;
    const prepareStep = ({ stepNumber }: { readonly stepNumber: number }) => (stepNumber === 1 ? { model: named } : {});
    const run = await runAgent(agentWith({ model: own.model, prepareStep }, { models: { large: named } }), {
      input: {},
    });
    expect({ result: run.result, own: own.requests.length, large: large.requests.length }).toEqual({
      result: "by the large one",
      own: 1,
      large: 1,
    });
  });
});

test("prepareCall gets the task, and decides once for a run", async () => {
  const { model, requests } = noting(2);
  let asked = 0;
  const prepareCall = ({ options, ...rest }: { readonly options: { readonly to: string } }) => {
    asked += 1;
    return { ...rest, instructions: `Go to ${options.to}.`, activeTools: ["act"] };
  };
  const callOptionsSchema = z.object({ to: z.string() });
  const agent = agentWith({ model, prepareCall, callOptionsSchema }, { task: undefined });
  const run = await runAgent(agent, { input: { to: "Rome" } as never });
  expect(run.status).toBe("completed");
  expect(requests.map(systemOf)).toEqual(["Go to Rome.", "Go to Rome.", "Go to Rome."]);
  expect(requests.map(({ tools }) => tools?.length)).toEqual([1, 1, 1]);
  expect(asked).toBe(1);
});

test("settings of requests reach the model, and headers are in no record", async () => {
  const harness = createHarness();
  const { model, requests } = noting(1);
  const headers = { "x-team": "blue-team-header" };
  const settings = { toolChoice: "auto", headers, reasoning: "low", activeTools: ["act"], toolOrder: ["act"] };
  const agent = agentWith({ model, ...settings, timeout: { totalMs: 600_000, toolMs: 5_000, tools: { otherMs: 9 } } });
  await startKeyedRun(harness.world, { agent, key: "a" });
  await harness.runUntilIdle(agent);
  expect(requests[0]).toMatchObject({ headers, reasoning: "low", toolChoice: { type: "auto" } });
  expect(requests[0]?.tools).toHaveLength(1);
  const written = [...harness.world.store.objects.values()].map((bytes) => Buffer.from(bytes as Uint8Array).toString());
  expect(written.join("\n")).not.toContain("blue-team-header");
  expect(agent.deadline?.afterMs).toBe(600_000);
  expect(agent.tools["act"]?.timeoutMs).toBe(5_000);
});

describe("approvals", () => {
  const asking = (part: object, settings: object = {}) => {
    const { model } = noting(1);
    return agentWith({ model, tools: { act: { ...act, ...part } }, ...settings }, { effects: { act: "none" } });
  };
  const gatesOf = async (agent: Agent): Promise<readonly unknown[]> => {
    const run = await runAgent(agent, { input: {} });
    return [run.timeline.filter(({ kind }) => kind === "ApprovalRequested").length, run.calls[0]?.status];
  };

  test.each([
    ["needsApproval: true", { needsApproval: true }, {}, [1, "succeeded"]],
    [
      "needsApproval that says yes",
      { needsApproval: async ({ to }: { to: string }) => to === "Oslo" },
      {},
      [1, "succeeded"],
    ],
    ["needsApproval that says no", { needsApproval: () => false }, {}, [0, "succeeded"]],
    [
      "toolApproval over needsApproval",
      { needsApproval: true },
      { toolApproval: { act: "approved" } },
      [0, "succeeded"],
    ],
    ["toolApproval that asks", {}, { toolApproval: { act: () => "user-approval" } }, [1, "succeeded"]],
    ["toolApproval that denies", {}, { toolApproval: () => ({ type: "denied", reason: "not now" }) }, [0, "failed"]],
  ])("%s", async (_, part, settings, expected) => {
    expect(await gatesOf(asking(part, settings))).toEqual(expected);
  });
});

test("a tool without execute is a question to the client", async () => {
  const { model } = noting(1);
  const question = {
    description: "Asks.",
    inputSchema: z.object({ to: z.string() }),
    outputSchema: z.object({ ok: z.boolean() }),
  };
  const agent = agentWith({ model, tools: { act: question } }, { effects: {} });
  const run = await runAgent(agent, { input: {}, answer: () => ({ ok: true }) });
  expect(run.calls).toMatchObject([{ tool: "act", status: "succeeded" }]);
});

test("arguments of jsonSchema() tools are checked by the schema, which the model sees as it is", async () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    additionalProperties: false,
    properties: { to: { type: "string", minLength: 9 } },
    required: ["to"],
  } satisfies JSONSchema7;
  const { model, requests } = noting(1);
  const listed = { type: "dynamic", inputSchema: jsonSchema(schema), execute: async () => "never" } as const;
  const run = await runAgent(agentWith({ model, tools: { act: listed } }, { effects: { act: "none" } }), { input: {} });
  expect(run.calls).toMatchObject([{ status: "failed" }]);
  const { $schema: _, ...shown } = schema;
  expect(requests[0]?.tools).toMatchObject([{ name: "act", inputSchema: shown }]);
});

describe("output", () => {
  const schema = z.object({ city: z.string(), days: z.number().default(2) });

  test.each([
    ["Output.object", Output.object({ schema }), '{"city":"Rome"}', { city: "Rome", days: 2 }],
    [
      "Output.object in a text",
      Output.object({ schema }),
      'It is:\n```json\n{"city":"Rome","days":1}\n```',
      { city: "Rome", days: 1 },
    ],
    ["Output.array", Output.array({ element: z.string() }), '{"elements":["a","b"]}', ["a", "b"]],
    ["Output.choice", Output.choice({ options: ["yes", "no"] }), '{"result":"no"}', "no"],
    ["Output.text", Output.text(), "words", "words"],
  ])("%s is the result", async (_, output, text, result) => {
    const { model, requests } = noting(0, { text });
    const run = await runAgent(agentWith({ model, output }), { input: {} });
    expect(run.result).toEqual(result);
    const { responseFormat } = requests[0] ?? {};
    if (output.name === "text") expect(responseFormat).toBeUndefined();
    else
      expect(responseFormat).toMatchObject({ type: "json", schema: { type: "object", properties: expect.anything() } });
  });

  test("that does not fit is sent back with what is wrong", async () => {
    const { model, requests } = noting(0, { text: '{"city":7}' });
    const run = await runAgent(agentWith({ model, output: Output.object({ schema }) }), { input: {} });
    expect(run.failure?.code).toBe("NotDone");
    expect(JSON.stringify(requests[1]?.prompt)).toContain("city");
  });
});

test("callbacks come in order, and what they throw is passed over", async () => {
  const { model } = noting(1);
  const said: string[] = [];
  const note = (name: string) => (event: { readonly stepNumber?: number; readonly text?: string }) => {
    said.push([name, event.stepNumber, event.text].filter((each) => each !== undefined).join(" "));
    throw new Error("passed over");
  };
  const callbacks = {
    ...{ onStart: note("start"), onStepStart: note("step"), onStepFinish: note("stepped"), onFinish: note("end") },
    ...{ onToolExecutionStart: note("tool"), onToolExecutionEnd: note("tooled") },
  };
  const run = await runAgent(agentWith({ model, ...callbacks }), { input: {} });
  expect(run.status).toBe("completed");
  expect(said).toEqual(["start", "step 0", "tool", "tooled", "stepped 0 ", "step 1", "stepped 1 done", "end 1 done"]);
});

test("the task is over the runtimeContext that functions get", async () => {
  const { model } = noting(0);
  const got: unknown[] = [];
  const prepareStep = ({ runtimeContext }: { readonly runtimeContext: unknown }) => void got.push(runtimeContext);
  const settings = { model, runtimeContext: { tenant: "ada", plan: "free" }, prepareStep };
  await runAgent(agentWith(settings, { task: z.object({ plan: z.string() }) }), { input: { plan: "pro" } as never });
  expect(got).toEqual([{ tenant: "ada", plan: "pro" }]);
});

test("a text as a model goes to the gateway, as in the AI SDK", () => {
  expect(agentWith({ model: "anthropic/claude-haiku-4-5" }).model).toBe("gateway:anthropic/claude-haiku-4-5");
});

const provider = {
  type: "provider",
  id: "openai.web_search",
  args: {},
  inputSchema: z.object({}),
  isProviderExecuted: true,
};

test.each([
  ["integrations of telemetry", { telemetry: { isEnabled: true, integrations: [{}] } }, {}, "integrations"],
  ["a number of parallel calls", { toolCallConcurrency: 3 }, {}, "toolCallConcurrency is 3"],
  ["a limit of chunks", { timeout: { chunkMs: 5 } }, {}, "timeout.chunkMs"],
  [
    "options of a system message",
    { instructions: { role: "system", content: "a", providerOptions: {} } },
    {},
    "providerOptions",
  ],
  ["an active tool that there is not", { activeTools: ["x"] }, {}, "activeTools names x"],
  ["stopWhen that is no function", { stopWhen: 3 }, {}, "stopWhen is no condition"],
  ["stopWhen in a conversation", { stopWhen: isStepCount(2) }, { chat: true }, "would end the conversation"],
  ["a provider tool", { tools: { act: provider } }, {}, "is a provider tool"],
  [
    "a JSON Schema as a promise",
    { tools: { act: { inputSchema: jsonSchema(async () => ({})), execute: () => 1 } } },
    {},
    "promise",
  ],
  ["two outputs", { output: Output.text() }, { output: z.object({}) }, "another one"],
  ["no task", {}, { task: undefined }, "has no task"],
])("%s is refused when the file loads", (_, settings, options, why) => {
  const make = () => agentWith({ model: noting(0).model, ...settings }, { effects: {}, ...options });
  expect(make).toThrow(AgentInvalid);
  expect(make).toThrow(why);
});
