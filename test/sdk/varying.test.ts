/** Options of an agent that are functions of the run: when they are asked, and what their record does. */
import { expect, test } from "vitest";
import { z } from "zod";
import { defineAgent, tool } from "../../src/index.ts";
import { AgentInvalid } from "../../src/ports/agent-invalid.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { runAgent, scriptedModel } from "../../src/testing/kit/index.ts";
import { show } from "../../src/operations/views.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { createHarness } from "../support/harness/harness.ts";
import { runBeats } from "../support/runs/long-runs.ts";

type Options = Parameters<typeof defineAgent>[0];

function looking(part: object, calls = 2) {
  const seen: string[] = [];
  const modelNamed = (name: string) => {
    const { doStream: _, ...script } = scriptedModel({
      name,
      reply: ({ calls: made }) => (made.length < calls ? { calls: [{ tool: "look", args: {} }] } : { text: "done" }),
    });
    const doGenerate: typeof script.doGenerate = (request) => {
      const [system] = request.prompt;
      const tools = (request.tools ?? []).map((each) => each.name).join("+");
      seen.push(
        [name, system?.role === "system" ? system.content : "", tools, request.toolChoice?.type ?? ""].join(" | "),
      );
      return script.doGenerate(request);
    };
    return { ...script, doGenerate };
  };
  const look = tool({ input: z.object({}), effect: "none", run: () => "nothing" });
  const agent = defineAgent({
    name: "looker",
    version: "1",
    instructions: "Look.",
    task: z.object({ at: z.string() }),
    model: modelNamed("own") as never,
    tools: { look, other: look },
    loops: "ignore",
    ...part,
  } as Options) as Agent;
  return { agent, seen, modelNamed };
}

test("functions get task, tenant, starter and time, and are asked once for a run", async () => {
  const asked: unknown[] = [];
  const instructions = async (view: { task: { at: string }; tenant: string; starter: string | null; now: number }) => {
    asked.push([view.task, view.tenant, typeof view.starter, typeof view.now]);
    return `Look at ${view.task.at}, ${asked.length}.`;
  };
  const { agent, seen } = looking({ instructions, activeTools: () => ["look"], toolChoice: () => "required" });
  const run = await runAgent(agent, { input: { at: "sea" } });
  expect(run.status).toBe("completed");
  expect(seen).toEqual(Array.from({ length: 3 }, () => "own | Look at sea, 1. | look | required"));
  expect(asked).toEqual([[{ at: "sea" }, "local", expect.any(String), "number"]]);
  expect(run.timeline.filter(({ kind }) => kind === "RequestChosen")).toHaveLength(1);
});

test("one that is declared per step is asked before each call, and those of the run keep their choice", async () => {
  let asked = 0;
  const { agent, seen } = looking({
    instructions: () => `Choice ${(asked += 1)}.`,
    activeTools: {
      per: "step",
      choose: ({ steps }: { steps: readonly unknown[] }) => (steps.length === 1 ? ["other", "look"] : ["look"]),
    },
  });
  await runAgent(agent, { input: { at: "sea" } });
  expect(seen).toEqual(["own | Choice 1. | look | ", "own | Choice 1. | other+look | ", "own | Choice 1. | look | "]);
});

test("another version of the agent chooses anew", async () => {
  const { world } = createHarness();
  const instructions = (version: string) => () => `By ${version}.`;
  const [one, two] = [
    looking({ instructions: instructions("1") }),
    looking({ instructions: instructions("2"), version: "2" }),
  ];
  const payload = await beginRun(world, one.agent, { at: "sea" });
  await runBeats(runnerOf(world, two.agent), await runBeats(runnerOf(world, one.agent), payload, 1), 1);
  expect({ one: one.seen, two: two.seen }).toEqual({
    one: ["own | By 1. | look+other | "],
    two: ["own | By 2. | look+other | "],
  });
});

test("a restart chooses anew", async () => {
  const harness = createHarness();
  const undo = { effect: "keyed", run: () => null };
  const look = tool({ input: z.object({}), effect: "keyed", run: () => "seen", undo } as never);
  const { agent, seen } = looking(
    {
      instructions: ({ restart }: { restart: number }) => `Restart ${restart}.`,
      tools: { look },
      done: [{ name: "never", holds: () => "no" }],
      saga: { restarts: 1 },
    },
    1,
  );
  const { run } = await startKeyedRun(harness.world, { agent, key: "a", input: { at: "sea" } });
  await harness.runUntilIdle(agent);
  expect(await show(harness.world, run)).toMatchObject({ status: "failed" });
  expect([...new Set(seen)]).toEqual(["own | Restart 1. | look | ", "own | Restart 2. | look | "]);
});

test("a function may name one of the models, which is then called", async () => {
  const { modelNamed, seen } = looking({});
  const model = { per: "step", choose: ({ steps }: { steps: readonly unknown[] }) => (steps.length === 1 ? "b" : "a") };
  const { agent } = looking({ model, models: { a: modelNamed("a"), b: modelNamed("b") } });
  await runAgent(agent, { input: { at: "sea" } });
  expect(seen.map((each) => each[0])).toEqual(["a", "b", "a"]);
  expect(agent.model).toMatchObject({ modelId: "a" });
});

test("an agent without functions makes no choice and no event", async () => {
  const { agent, seen } = looking({ toolChoice: "auto" });
  const run = await runAgent(agent, { input: { at: "sea" } });
  expect(agent.chooser).toBeUndefined();
  expect(run.timeline.some(({ kind }) => kind === "RequestChosen")).toBe(false);
  expect(seen[0]).toBe("own | Look. | look+other | auto");
});

test("what a function throws ends the run with its words", async () => {
  const instructions = () => {
    throw new Error("no flags today");
  };
  const run = await runAgent(looking({ instructions }).agent, { input: { at: "sea" } });
  expect(run.failure).toMatchObject({ code: "ChoiceFailed", message: expect.stringContaining("no flags today") });
});

test.each<[string, object, string]>([
  ["a text in place of a list", { activeTools: () => "look" }, "the tools to offer are no list of names"],
  ["no list", { activeTools: () => null }, "the tools to offer are no list of names"],
  ["a list with something else in it", { activeTools: () => ["look", 7] }, "the agent has no tool 7"],
  ["no instructions", { instructions: () => undefined }, "instructions returned nothing"],
  ["instructions that are no text", { instructions: () => 7 }, "instructions is no text"],
  ["an option that is no JSON", { toolChoice: () => () => 0 }, "options: "],
])("ends the run as ChoiceFailed where a function returns %s", async (_, part, why) => {
  const run = await runAgent(looking(part).agent, { input: { at: "sea" } });
  expect(run.failure).toMatchObject({ code: "ChoiceFailed", message: expect.stringContaining(why) });
});

test("a function that returns no toolChoice leaves the choice to the provider", async () => {
  const { agent, seen } = looking({ toolChoice: () => undefined });
  const run = await runAgent(agent, { input: { at: "sea" } });
  expect(run.status).toBe("completed");
  expect(seen[0]).toBe("own | Look. | look+other | ");
});

test.each([
  [{ instructions: 7 }, "has instructions 7: write a text, or a function of the run"],
  [{ instructions: { per: "day", choose: () => "" } }, 'instructions has per "day"'],
  [{ activeTools: { per: "run", choose: 1 } }, "activeTools has no function choose"],
  [{ model: () => "a" }, "write models: { NAME: model }"],
])("refuses %j", (part, why) => {
  expect(() => looking(part)).toThrow(AgentInvalid);
  expect(() => looking(part)).toThrow(why);
});
