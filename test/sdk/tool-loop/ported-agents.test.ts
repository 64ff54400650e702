/**
 * Agents in the shapes of public examples (docs/agents.md names them), ported by their imports and effects alone. They run
 * with a scripted model.
 */
import { ToolLoopAgent, isStepCount, tool as aiTool } from "ai";
import { expect, test } from "vitest";
import * as z from "zod";
import { childTool, defineAgent, fromToolLoopAgent, scriptedModel, tool } from "../../../src/index.ts";
import { runAgent } from "../../../src/testing/kit/index.ts";

const PLACE = z.object({ city: z.string() });
const weather = aiTool({
  description: "The weather of a city",
  inputSchema: PLACE,
  outputSchema: z.object({ city: z.string(), sky: z.string() }),
  execute: async ({ city }) => ({ city, sky: "clear" }),
});
const ported = { name: "ported", version: "1", task: z.string(), effects: { weather: "none" } } as const;

/** Calls the tool once, and answers then. */
const callsOnce = (name: string, args: Readonly<Record<string, string>>) =>
  scriptedModel({
    name: "once",
    reply: ({ resultOf }) => (resultOf(name) === undefined ? { calls: [{ tool: name, args }] } : { text: "Clear." }),
  });
const model = callsOnce("weather", { city: "Oslo" });

test("a ToolLoopAgent with one tool runs as it is", async () => {
  const agent = fromToolLoopAgent(
    new ToolLoopAgent({ model: "a/b", instructions: "Help.", tools: { weather } }),
    ported,
  );
  const run = await runAgent(agent, { input: "How is Oslo?", model });
  expect(run).toMatchObject({ status: "completed", result: "Clear." });
  expect(run.calls.map(({ tool: name, status }) => ({ name, status }))).toEqual([
    { name: "weather", status: "succeeded" },
  ]);
});

test("one that stops after a step ends there, with the text of that step", async () => {
  const settings = { model: "a/b", tools: { weather }, stopWhen: isStepCount(1) };
  const run = await runAgent(fromToolLoopAgent(new ToolLoopAgent(settings), ported), { input: "Oslo?", model });
  expect(run).toMatchObject({ status: "completed", result: "" });
});

test("one whose tool a user approves waits for that", async () => {
  const settings = { model: "a/b", tools: { weather }, toolApproval: { weather: "user-approval" } } as const;
  const agent = fromToolLoopAgent(new ToolLoopAgent(settings), ported);
  const asked: string[] = [];
  const decide = ({ tool: name }: { readonly tool: string }) => (asked.push(name), "approve" as const);
  const run = await runAgent(agent, { input: "Oslo?", model, decide });
  expect(run).toMatchObject({ status: "completed", decided: ["approved"] });
  expect(asked).toEqual(["weather"]);
});

test("one that reads its runtime context in each step or returns it unchanged runs, and one that changes it fails by name", async () => {
  const seen: unknown[] = [];
  const settings = { model: "a/b", tools: { weather }, runtimeContext: { request: "r-1", steps: 0 } };
  const reading = new ToolLoopAgent({
    ...settings,
    prepareStep: ({ runtimeContext, steps }) => {
      seen.push({ ...runtimeContext, steps: steps.length });
      return {};
    },
  });
  expect(await runAgent(fromToolLoopAgent(reading, ported), { input: "Oslo?", model })).toMatchObject({
    result: "Clear.",
  });
  expect(seen).toEqual([
    { request: "r-1", steps: 0 },
    { request: "r-1", steps: 1 },
  ]);
  const passing = new ToolLoopAgent({ ...settings, prepareStep: (all) => ({ ...all, toolChoice: "auto" }) as never });
  expect(await runAgent(fromToolLoopAgent(passing, ported), { input: "Oslo?", model })).toMatchObject({
    result: "Clear.",
  });
  const returning = new ToolLoopAgent({
    ...settings,
    prepareStep: ({ runtimeContext, steps }) => ({ runtimeContext: { ...runtimeContext, steps: steps.length } }),
  });
  const run = await runAgent(fromToolLoopAgent(returning, ported), { input: "Oslo?", model });
  expect(run).toMatchObject({
    ...{ status: "failed" },
    failure: { code: "ChoiceFailed", message: expect.stringContaining("prepareStep returned runtimeContext") },
  });
});

const specialist = defineAgent({
  ...{ name: "specialist", version: "1", instructions: "Be short.", task: z.object({ input: z.string() }), tools: {} },
  model: scriptedModel({ name: "specialist", reply: () => ({ text: "Fog." }) }),
});

test.each([
  ["ask", { input: "San Francisco" }, ["ask"]],
  ["ask", { input: "Oslo" }, []],
  ["degrees", { city: "Oakland" }, ["degrees"]],
  ["degrees", { city: "Oslo" }, []],
])("an agent as a tool and a tool ask for approval by their arguments: %s %j", async (name, args, gates) => {
  const agent = defineAgent({
    ...{ name: "desk", version: "1", instructions: "Answer.", task: z.string() },
    model: callsOnce(name, args as Readonly<Record<string, string>>),
    tools: {
      degrees: tool({
        ...{ description: "How warm it is", input: PLACE, effect: "none" },
        approval: ({ city }) => city === "Oakland" && "it is Oakland",
        run: ({ input: { city } }) => `20 degrees in ${city}`,
      }),
      ask: childTool({
        ...{ agent: "specialist", description: "Asks a specialist", input: z.object({ input: z.string() }) },
        approval: ({ input }) => input.includes("Francisco") && "it is San Francisco",
        budget: { usd: 0.1, beats: 5 },
      }),
    },
  });
  const asked: string[] = [];
  const decide = (gate: { readonly tool: string }) => (asked.push(gate.tool), "approve" as const);
  const run = await runAgent(agent, { input: "Weather?", agents: [specialist], decide });
  expect(run).toMatchObject({ status: "completed", result: "Clear." });
  expect(asked).toEqual(gates);
});
