/** The test kit says what a run needs and the test does not give, and lets `onUnknown` decide as production does. */
import { z } from "zod";
import { expect, test } from "vitest";
import { OutcomeUnknown, childTool, defineAgent, tool } from "../../src/index.ts";
import { NotGiven, fakeService, runAgent, scriptedModel } from "../../src/testing/kit/index.ts";

/** Calls the tool once, and says that all is well whatever came of it. */
const modelThatCalls = (name: string) =>
  scriptedModel({
    name: "script",
    reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: name, args: {} }] } : { text: "all is well" }),
  });

const shared = { version: "1", instructions: "", task: z.object({}), budget: { beats: 20 } };
const NOTHING = z.object({});

const worker = defineAgent({
  ...{ ...shared, name: "worker", tools: {} },
  model: scriptedModel({ name: "worker", reply: () => ({ text: "done" }) }),
});

const boss = (wait: boolean) =>
  defineAgent({
    ...{ ...shared, name: "boss", model: modelThatCalls("ask") },
    tools: { ask: childTool({ agent: "worker", description: "Asks.", input: NOTHING, wait, budget: { beats: 3 } }) },
  });

test.each([true, false])("names the agent of a child run that is not given, with wait: %s", async (wait) => {
  const error: unknown = await runAgent(boss(wait), { input: {} }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NotGiven);
  expect(error).toMatchObject({ code: "AgentNotGiven", message: expect.stringContaining("agents: [worker]") });
  expect(await runAgent(boss(wait), { input: {}, agents: [worker] })).toMatchObject({ status: "completed" });
});

test("names a declared secret that is not given, whatever the tool makes of its absence", async () => {
  const reader = defineAgent({
    ...{ ...shared, name: "reader", model: modelThatCalls("read"), secrets: ["API_TOKEN"] },
    tools: {
      read: tool({
        ...{ input: NOTHING, effect: "none" },
        run: async ({ secrets }) => secrets.get("API_TOKEN").catch(() => "no token, no matter"),
      }),
    },
  });
  const error: unknown = await runAgent(reader, { input: {} }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "SecretNotGiven", message: expect.stringContaining('{ API_TOKEN: "..." }') });
  const given = await runAgent(reader, { input: {}, secrets: { API_TOKEN: "t-1" } });
  expect(given.calls.map(({ status }) => status)).toEqual(["succeeded"]);
});

test("names a file that is not given, unless the test says that the task has none", async () => {
  const reader = defineAgent({
    ...{ ...shared, name: "reader", model: modelThatCalls("read") },
    tools: {
      read: tool({ input: NOTHING, effect: "none", run: async ({ files }) => (await files.read("a.txt")).bytes }),
    },
  });
  const error: unknown = await runAgent(reader, { input: {} }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "FilesNotGiven", message: expect.stringContaining('name: "a.txt"') });
  const status = async (files: { name: string; bytes: Uint8Array }[]) =>
    (await runAgent(reader, { input: {}, files })).calls.map((call) => call.status);
  expect(await status([])).toEqual(["failed"]);
  expect(await status([{ name: "a.txt", bytes: new TextEncoder().encode("hello") }])).toEqual(["succeeded"]);
});

test.each([
  ["tell", "completed", "unknown"],
  ["fail", "failed", "unknown"],
] as const)("lets onUnknown %s decide about a call whose outcome cannot be known", async (onUnknown, status, call) => {
  const payer = defineAgent({
    ...{ ...shared, name: "payer", model: modelThatCalls("pay") },
    tools: { pay: tool({ input: NOTHING, effect: "unsafe", onUnknown, run: () => "paid" }) },
  });
  const run = await runAgent(payer, {
    ...{ input: {}, killAt: "after:effect:pay", reconcile: () => null },
    tools: { pay: fakeService({ name: "bank", honoursKeys: false, reply: () => "paid" }) },
  });
  expect({ status: run.status, call: run.calls[0]?.status }).toEqual({ status, call });
});

test("names a model that no test calls", async () => {
  const speaker = defineAgent({ ...{ ...shared, name: "speaker", model: "anthropic:claude-opus-4-5" }, tools: {} });
  const error: unknown = await runAgent(speaker, { input: {} }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "ModelNotGiven", message: expect.stringContaining("pass model: scriptedModel") });
  const model = scriptedModel({ name: "m", reply: () => ({ text: "Hello." }) });
  expect((await runAgent(speaker, { input: {}, model })).status).toBe("completed");
});

test("ends a run whose call stays unknown however often it is repeated", async () => {
  const payer = defineAgent({
    ...{ ...shared, name: "payer", model: modelThatCalls("pay") },
    tools: { pay: tool({ input: NOTHING, effect: "unsafe", run: () => "paid" }) },
  });
  const reply = () => {
    throw new OutcomeUnknown("the line is dead");
  };
  const run = runAgent(payer, { input: {}, tools: { pay: fakeService({ name: "bank", reply }) } });
  await expect(run).rejects.toThrow(/calls of agent payer are repeated again and again/);
});

test.each([
  ["no agent", { name: "x" }, { input: {} }, "runAgent has no agent: give what defineAgent returns"],
  ["no input", worker, {}, "runAgent has no input: write the input of the run"],
  [
    "an option that there is not",
    worker,
    { input: {}, tool: {} },
    'runAgent has no option "tool": did you mean tools?',
  ],
  [
    "an agent in place of a list",
    worker,
    { input: {}, agents: worker },
    "runAgent has agents (an object): write a list",
  ],
])("refuses %s by name", async (_, agent, options, says) => {
  await expect(runAgent(agent as never, options as never)).rejects.toThrow(says);
});
