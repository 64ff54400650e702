/** A test of an agent acts on nothing outside: what nothing replaces is refused before anything runs. */
import { z } from "zod";
import { describe, expect, test } from "vitest";
import { childTool, defineAgent, tool } from "../../src/index.ts";
import { sqsSend } from "../../src/effects/sqs.ts";
import type { Agent, Tool, ToolSource } from "../../src/ports/agent.ts";
import { actingTools } from "../../src/testing/acting-tools.ts";
import {
  EffectsNotReplaced,
  everyFaultPoint,
  expectEffectsOnce,
  fakeService,
  killAt,
  runAgent,
  scriptedModel,
} from "../../src/testing/kit/index.ts";
import { assertSafety } from "../support/gate/safety.ts";

const input = z.object({});

/** Records what a tool of the agent itself has done. */
function outside() {
  const reached: string[] = [];
  const reach = (what: string) => (): unknown => {
    reached.push(what);
    return { kind: "absent" };
  };
  return { reached, reach };
}

const calling = (...names: readonly string[]) =>
  scriptedModel({
    name: "caller",
    reply: ({ turn }) => {
      const name = names[turn];
      return name === undefined ? { text: "over" } : { calls: [{ tool: name, args: {} }] };
    },
  });

function agentWith(tools: Readonly<Record<string, Tool>>, options: Partial<Pick<Agent, "name" | "sources">> = {}) {
  const { name = "clerk", ...others } = options;
  const agent = defineAgent({
    ...{ name, version: "1", instructions: "", task: z.object({}), budget: { beats: 20 } },
    ...{ model: calling(...Object.keys(tools)), tools },
  });
  return { ...agent, ...others };
}

/** Every kind of tool that acts outside, each of which reports where it was reached. */
function actingKinds({ reach }: ReturnType<typeof outside>): Readonly<Record<string, Readonly<Record<string, Tool>>>> {
  const run = reach("run");
  const happened = reach("probe") as () => { readonly kind: "absent" };
  return {
    keyed: { act: tool({ input, effect: "keyed", run }) },
    idempotent: { act: tool({ input, effect: "idempotent", run }) },
    probed: { act: tool({ input, effect: "probed", run, probe: happened }) },
    unsafe: { act: tool({ input, effect: "unsafe", run }) },
    "undone outside": { act: tool({ input, effect: "keyed", run, undo: { effect: "unsafe", run } }) },
    "from the shelf": {
      act: sqsSend({
        ...{ input, queueUrl: "https://sqs.example/orders", message: () => ({ body: "go" }) },
        client: {
          ...{ config: { maxAttempts: () => Promise.resolve(1) } },
          sendMessage: async () => (run(), { MessageId: "m1" }),
        },
      }),
    },
  };
}

describe.each(Object.keys(actingKinds(outside())))("a tool that is %s", (kind) => {
  test.each([
    ["runAgent", (agent: Agent) => runAgent(agent, { input: {} })],
    ["killAt", (agent: Agent) => killAt(agent, "after:claim", { input: {} })],
    ["everyFaultPoint", (agent: Agent) => everyFaultPoint(agent, { input: {} })],
  ])("is refused by %s before anything runs", async (_, play) => {
    const world = outside();
    const agent = agentWith(actingKinds(world)[kind] ?? {}) as unknown as Agent;
    const refused = await play(agent).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(EffectsNotReplaced);
    expect(refused).toMatchObject({ code: "EffectsNotReplaced", tools: [{ name: "act" }] });
    expect(String(refused)).toContain('act: fakeService({ name: "act", reply: () => RESULT }),');
    assertSafety("a refused test acts on nothing", () => expect(world.reached).toEqual([]));
  });

  test("reaches nothing but its service once it is replaced, and its own code if services are given", async () => {
    const world = outside();
    const agent = agentWith(actingKinds(world)[kind] ?? {}) as unknown as Agent;
    const desk = fakeService({ name: "desk", reply: () => null });
    const run = await runAgent(agent, { input: {}, tools: { act: desk } });
    expect({ status: run.status, effects: desk.effects.length }).toEqual({ status: "completed", effects: 1 });
    assertSafety("a replaced tool acts on nothing", () => expect(world.reached).toEqual([]));
    expect((await runAgent(agent, { input: {}, services: [desk] })).status).toBe("completed");
    expect(world.reached).toEqual(["run"]);
  });
});

describe("a boss with a worker", () => {
  const family = (world: ReturnType<typeof outside>) => {
    const worker = agentWith(
      { sendMail: tool({ input, effect: "unsafe", run: world.reach("mail") }) },
      { name: "worker" },
    ) as unknown as Agent;
    const boss = agentWith({
      dispatch: childTool({ agent: "worker", description: "", input, budget: { beats: 5 } }),
      book: tool({ input, effect: "keyed", run: world.reach("book") }),
    }) as unknown as Agent;
    return { boss, worker };
  };

  test("is refused with the tools of both, each by the name to write", async () => {
    const world = outside();
    const { boss, worker } = family(world);
    const refused = await runAgent(boss, { input: {}, agents: [worker] }).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "EffectsNotReplaced",
      tools: [
        { name: "book", effect: "keyed" },
        { name: "worker.sendMail", effect: "unsafe" },
      ],
    });
    expect(String(refused)).toContain(
      '"worker.sendMail": fakeService({ name: "worker.sendMail", reply: () => RESULT })',
    );
    assertSafety("a refused test acts on nothing", () => expect(world.reached).toEqual([]));
  });

  test("acts on the services of the test at each fault point, once each", async () => {
    const world = outside();
    const { boss, worker } = family(world);
    const [post, books] = ["post", "books"].map((name) => fakeService({ name, reply: () => null }));
    const tools = { "worker.sendMail": post, "clerk.book": books } as Record<string, NonNullable<typeof post>>;
    const run = await runAgent(boss, { input: {}, agents: [worker], tools });
    expectEffectsOnce(run);
    expect(run.effects.map(({ service }) => service).toSorted()).toEqual(["books", "post"]);
    await everyFaultPoint(boss, { input: {}, agents: [worker], tools });
    assertSafety("a replaced tool acts on nothing", () => expect(world.reached).toEqual([]));
  });

  test.each(["helper.sendMail", "worker.sendFax", "dispatch.sendMail"])("has no tool %s to replace", async (name) => {
    const { boss, worker } = family(outside());
    const tools = { [name]: fakeService({ name, reply: () => null }) };
    await expect(runAgent(boss, { input: {}, agents: [worker], tools })).rejects.toThrow(
      `has no tool ${name} to replace`,
    );
  });
});

describe("a tool that a server lists", () => {
  const listing = (world: ReturnType<typeof outside>): ToolSource => {
    const listed = {
      desk_look: tool({ input, effect: "none", run: world.reach("look") }),
      desk_post: tool({ input, effect: "unsafe", run: world.reach("post") }),
    };
    return {
      ...{ label: "MCP server desk", prefix: "desk_", timeoutMs: null, startsProcess: false },
      list: () => Promise.resolve(listed),
    };
  };
  const agentOf = (world: ReturnType<typeof outside>, ...calls: readonly string[]): Agent =>
    ({ ...agentWith({}, { sources: [listing(world)] }), model: calling(...calls) }) as unknown as Agent;

  test("is refused when it would act, and runs where it only reads", async () => {
    const world = outside();
    await expect(runAgent(agentOf(world, "desk_look", "desk_post"), { input: {} })).rejects.toMatchObject({
      code: "EffectsNotReplaced",
      tools: [{ name: "desk_post", effect: "unsafe" }],
    });
    assertSafety("a refused tool acts on nothing", () => expect(world.reached).toEqual(["look"]));
  });

  test.each(["desk_post", "desk_*", "clerk.desk_post"])("is replaced under the name %s", async (name) => {
    const world = outside();
    const desk = fakeService({ name: "desk", reply: () => "posted" });
    const run = await runAgent(agentOf(world, "desk_post"), { input: {}, tools: { [name]: desk } });
    expect({ status: run.status, effects: run.effects.length }).toEqual({ status: "completed", effects: 1 });
    assertSafety("a replaced tool acts on nothing", () => expect(world.reached).toEqual([]));
  });
});

test("an agent that nothing dispatches is not in the family, and each agent of it is listed once", () => {
  const { reach } = outside();
  const act = tool({ input, effect: "keyed", run: reach("run") });
  const toBoss = childTool({ agent: "boss", description: "", input, budget: { beats: 1 } });
  const toWorker = childTool({ agent: "worker", description: "", input, budget: { beats: 1 } });
  const agents = [
    agentWith({ act, toWorker }, { name: "boss" }),
    agentWith({ act, toBoss, toWorker }, { name: "worker" }),
    agentWith({ act }, { name: "stranger" }),
  ] as unknown as readonly [Agent, ...Agent[]];
  const names = actingTools({ root: agents[0], others: agents }).map(({ name }) => name);
  expect(names).toEqual(["act", "worker.act"]);
});
