/** Whole runs of plan-execute: a world that moves, failed steps, and crashes at every moment. */
import { expect, test } from "vitest";
import { z } from "zod";
import { type Conversation, type ScriptedReply, planExecute, type scriptedModel, tool } from "../../../../src/index.ts";
import type { Tool } from "../../../../src/ports/agent.ts";
import { stateOf } from "../../../support/agents/approval-agent.ts";
import { createChainHarness } from "../../../support/harness/harness.ts";
import { forSampledCrashPoints } from "../../../support/faults/crash-at-call.ts";
import { playRun, roleAgent } from "../../../support/runs/topology-run.ts";

type Options = Partial<Parameters<typeof planExecute>[0]>;

/** Books by flight number, as long as that flight is there; the second plan takes the other flight. */
function traveller(
  options: Options = {},
  world: { readonly flights: Set<string> } = { flights: new Set(["A1", "B2"]) },
) {
  const booked: string[] = [];
  const step = (title: string, tools: readonly string[] = ["book"]) => ({ title, does: title, tools });
  const reply = ({ instructions, messages, calls }: Conversation): ScriptedReply => {
    const opening = messages.findLast(({ role }) => role === "user")?.text ?? "";
    if (instructions.includes("Plan.")) {
      const flight = opening.includes("cannot go on") ? "B2" : "A1";
      return { text: JSON.stringify({ steps: [step("look", ["look"]), step(`book ${flight}`)] }) };
    }
    const [, title = ""] = /^Step \d of \d: (.+)\.\n/.exec(opening) ?? [];
    const flight = title.replace("book ", "");
    if (title === "") return { text: `booked: ${opening.includes("B2") ? "B2" : "A1"}` };
    if (calls.length === 0) {
      return { calls: [title === "look" ? { tool: "look", args: {} } : { tool: "book", args: { flight } }] };
    }
    return { text: `${title} is over` };
  };
  const book = tool({
    ...{ input: z.object({ flight: z.string() }), effect: "keyed", description: "Books a flight." },
    run: ({ input: { flight }, key }) => {
      if (!world.flights.has(flight)) throw new Error(`flight ${flight} not found`);
      if (!booked.includes(`${flight} ${key}`)) booked.push(`${flight} ${key}`);
      return flight;
    },
  });
  const look = tool({ input: z.object({}), effect: "none", run: () => [...world.flights] });
  const topology = planExecute({ planner: { instructions: "Plan." }, effectsLast: ["book"], ...options });
  return { ...roleAgent(topology, { reply, tools: { book, look } }), booked, world };
}

test("the plan is shown, its steps run in order with their own tools, and the answer follows", async () => {
  const { agent, asked, booked } = traveller();
  const { shown, moves } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed", result: "booked: A1", topology: { kind: "plan-execute" } });
  expect(moves.map(({ note }) => note)).toEqual([
    ...["a plan is written", "plan 1: look; book A1", '"look" is done', '"book A1" is done', "the plan is carried out"],
  ]);
  expect(asked[0]).toMatchObject({
    tools: [],
    instructions: expect.stringContaining("- book: Books a flight.\n- look"),
  });
  expect(asked[1]?.tools).toEqual(["look"]);
  expect(booked).toHaveLength(1);
});

test("a step that names no tools gets effects only if it is the last one", async () => {
  const steps = ["look", "read", "book"].map((title) => ({ title, does: title }));
  const none = { input: z.object({}), effect: "none", run: () => "" } as const;
  const { agent, asked } = roleAgent(
    planExecute({ planner: { instructions: "Plan.", tools: ["look"] }, effectsLast: ["book"] }),
    {
      tools: { look: tool(none), book: tool({ ...none, effect: "keyed" }) },
      reply: ({ instructions }) => ({ text: instructions.includes("Plan.") ? JSON.stringify({ steps }) : "done" }),
    },
  );
  const { shown } = await playRun(agent);
  expect(shown).toMatchObject({ status: "completed" });
  expect(asked.map(({ tools }) => tools)).toEqual([["look"], ["look"], ["look"], ["look", "book"], []]);
});

test("a plan is stale when its object is gone: that is signalled before the model acts on, and another plan follows", async () => {
  const { agent, booked, asked } = traveller({}, { flights: new Set(["B2"]) });
  const { shown, cracks, events, moves } = await playRun(agent);
  expect(cracks).toEqual(["stalePlan"]);
  expect(shown).toMatchObject({ status: "completed", result: "booked: B2" });
  expect(booked.map((each) => each.slice(0, 2))).toEqual(["B2"]);
  expect(moves.map(({ note }) => note)).toContain("plan 2: - book A1; + look; + book B2");
  const at = events.findIndex(({ kind }) => kind === "CrackSignalled");
  const failed = events.findIndex((event) => event.kind === "ToolResultRecorded" && event.outcome === "failed");
  expect(events.slice(failed, at).filter(({ kind }) => kind === "ModelCallCompleted")).toEqual([]);
  expect(
    asked.some(({ texts }) => texts.at(-1)?.includes("Already done, not to be done again:\n- look") === true),
  ).toBe(true);
});

test("a precondition looks at the world before each step", async () => {
  const flights = new Set(["B2"]);
  const precondition: Options["precondition"] = ({ about }) => {
    const { title } = about as { readonly title: string };
    return title === "look" || flights.has(title.replace("book ", "")) || "that flight is gone";
  };
  const { agent, booked } = traveller({ precondition }, { flights });
  const { shown, cracks, events } = await playRun(agent);
  expect({ cracks, status: shown?.status }).toEqual({ cracks: ["stalePlan"], status: "completed" });
  const signal = events.find(({ kind }) => kind === "CrackSignalled");
  expect(signal).toMatchObject({ why: '"book A1" cannot begin: that flight is gone' });
  expect(booked.map((each) => each.slice(0, 2))).toEqual(["B2"]);
});

test("the age of a plan counts from when it was written: waiting makes it stale, and a resumed run has no younger one", async () => {
  const { agent } = traveller({ planTtl: 1, replans: 0 });
  const { shown, cracks } = await playRun({
    ...agent,
    tools: {
      ...agent.tools,
      look: { ...(agent.tools["look"] as Tool), retry: { attempts: 2, backoffMs: 50 }, run: slowOnce() },
    },
  });
  expect(cracks).toContain("stalePlan");
  expect(shown).toMatchObject({ status: "failed", failure: { code: "StalePlan" } });
});

/** Fails once, so that time passes before the second attempt. */
function slowOnce(): () => unknown {
  let tries = 0;
  return () => {
    tries += 1;
    if (tries === 1) throw new Error("busy");
    return ["A1"];
  };
}

test.each([
  ["stop", "failed"],
  ["skip", "completed"],
] as const)("a failed step is signalled before anything else acts: %s", async (onFailedStep, status) => {
  const { agent, booked } = traveller({ onFailedStep });
  const look = { ...(agent.tools["look"] as Tool), run: () => Promise.reject(new Error("503 busy")) };
  const { shown, events, cracks } = await playRun({ ...agent, tools: { ...agent.tools, look } });
  expect(cracks).toEqual(["partialExecution"]);
  expect(shown).toMatchObject({ status });
  expect(booked).toHaveLength(onFailedStep === "stop" ? 0 : 1);
  const at = events.findIndex(({ kind }) => kind === "CrackSignalled");
  const acted = events.findIndex((event) => event.kind === "ToolIntended" && event.effect === "keyed");
  expect(acted === -1 || at < acted).toBe(true);
});

test("whoever dies where, each step acts once, and no run gets another replan", async () => {
  const calm = await playRun(traveller({}, { flights: new Set(["B2"]) }).agent);
  const crashes = await forSampledCrashPoints(async (crash) => {
    const { agent, booked } = traveller({}, { flights: new Set(["B2"]) });
    const { lives, shown, moves } = await playRun(agent, { crash });
    expect(shown).toMatchObject({ status: "completed", result: "booked: B2" });
    // A call whose answer a crash lost has an unknown outcome, which is another reason for the other plan.
    expect(moves.map(({ where }) => where)).toEqual(calm.moves.map(({ where }) => where));
    expect(booked).toHaveLength(1);
    return lives;
  });
  expect(crashes).toBeGreaterThan(60);
  await forSampledCrashPoints(async (crash) => {
    const { lives, shown, cracks } = await playRun(traveller({ replans: 1 }, { flights: new Set() }).agent, { crash });
    expect(shown).toMatchObject({
      status: "failed",
      failure: { code: expect.stringMatching(/^(StalePlan|PartialExecution)$/) },
    });
    expect(cracks).toHaveLength(2);
    return lives;
  });
});

test("a section is durable before its first reply is paid for, also where one invocation makes many beats", async () => {
  const harness = createChainHarness();
  const { agent } = traveller({}, { flights: new Set(["B2"]) });
  const scripted = agent.model as ReturnType<typeof scriptedModel>;
  const seen: string[] = [];
  const model = {
    ...scripted,
    doGenerate: async (call: Parameters<typeof scripted.doGenerate>[0]) => {
      const [run = ""] = harness.world.store.rows.keys();
      seen.push((await stateOf(harness.world, run)).topology?.where ?? "");
      return scripted.doGenerate(call);
    },
  };
  const { shown, moves } = await playRun({ ...agent, model, checkpoint: 50 }, { harness });
  expect(shown).toMatchObject({ status: "completed", epoch: 1 });
  expect(new Set(seen)).toEqual(new Set(moves.map(({ where }) => where)));
});
