/** What chaos puts in the place of tools: none acts outside that neither the agent's file nor the user names. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { Fakes } from "../../src/chaos/fakes.ts";
import { GateUndecided, gateRule } from "../../src/chaos/gates.ts";
import { plainLoop } from "../../src/chaos/plain-loop.ts";
import { rigFor } from "../../src/chaos/rig.ts";
import { sampleFor } from "../../src/sdk/sample.ts";
import { agentStandingIn, castingFor, countingFor, undeclared, withoutResult } from "../../src/chaos/stand-ins.ts";
import { type Chaos, childTool, defineAgent, defineChaos, tool } from "../../src/index.ts";
import type { Agent, Tool, ToolContext, ToolSource } from "../../src/ports/agent.ts";
import { modelsOf } from "../../src/providers/model.ts";
import { scriptedModel } from "../../src/sdk/scripted.ts";
import { callContext } from "../support/agents/call-context.ts";
import { assertSafety } from "../support/gate/safety.ts";

const input = z.object({ usd: z.number() });

function temporaryDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "cairn-stand-ins-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  return dir;
}

/** A family of a boss and a worker with a tool of each class, and the calls that reached the outside. */
function family() {
  const reached: string[] = [];
  const reach = (what: string) => (): never => {
    reached.push(what);
    throw new Error(`${what} was reached`);
  };
  const acting = (name: string): Readonly<Record<string, Tool>> => ({
    look: tool({ input, effect: "none", run: () => "seen" }),
    keyed: tool({ input, effect: "keyed", run: reach(`${name}.keyed`) }),
    idempotent: tool({ input, effect: "idempotent", run: reach(`${name}.idempotent`) }),
    probed: tool({
      ...{ input, effect: "probed", run: reach(`${name}.probed`), probe: reach("probe"), before: reach("before") },
      undo: { effect: "probed", run: reach("undo"), probe: reach("probe of the undo") },
    }),
    unsafe: tool({ input, effect: "unsafe", run: reach(`${name}.unsafe`) }),
  });
  const listed = { desk_look: acting("desk")["look"], desk_post: acting("desk")["unsafe"] } as Record<string, Tool>;
  const source: ToolSource = {
    ...{ label: "MCP server desk", prefix: "desk_", timeoutMs: null, startsProcess: false },
    list: () => Promise.resolve(listed),
  };
  const agentNamed = (name: string, tools: Readonly<Record<string, Tool>>): Agent =>
    defineAgent({
      ...{ name, version: "1", instructions: "", task: z.unknown(), budget: { beats: 20 } },
      ...{ model: scriptedModel({ name: "m", reply: () => ({ text: "over" }) }), tools },
    }) as unknown as Agent;
  const dispatch = childTool({ agent: "worker", description: "", input, budget: { beats: 5 } });
  const boss = { ...agentNamed("boss", { ...acting("boss"), dispatch }), sources: [source] };
  const worker = agentNamed("worker", acting("worker"));
  return { reached, boss, worker, agents: [boss, worker] };
}

const NAMES = ["keyed", "idempotent", "probed", "unsafe"];
const OPEN = [...NAMES, "desk_*", ...NAMES.map((name) => `worker.${name}`)];

const contextOf = (usd: number, key: string): ToolContext<unknown> =>
  callContext({ run: "main-1", input: { usd }, key });

/** Calls each tool of the family once, those that its server lists as well, and returns which calls failed. */
async function callAll(
  { agents }: ReturnType<typeof family>,
  trial: { readonly standIns?: Chaos["standIns"]; readonly real?: readonly string[] } = {},
): Promise<readonly string[]> {
  const { standIns = {}, real = [] } = trial;
  const standing = { root: "boss", standIns, real, fakes: new Fakes(temporaryDir()), taskInHand: () => 1 };
  const failed: string[] = [];
  for (const agent of agents) {
    const { tools, sources = [], name } = agentStandingIn(agent, standing);
    const lists = await Promise.all(
      sources.map((source) => source.list({ secrets: { get: async () => "" }, mayBeOld: false, now: 0 })),
    );
    for (const [called, each] of Object.entries(Object.assign({}, tools, ...lists) as Agent["tools"])) {
      if (each.child !== undefined) continue;
      await Promise.resolve()
        .then(() => each.run(contextOf(1, "k1")))
        .catch(() => failed.push(`${name}.${called}`));
    }
  }
  return failed;
}

describe("a tool that acts outside", () => {
  test("is a fake in every agent of the family and in every list of a server, where nothing is declared", async () => {
    const of = family();
    expect(await callAll(of)).toEqual([]);
    assertSafety("nothing acts that was not asked for", () => expect(of.reached).toEqual([]));
    const { boss: root, agents: others } = of;
    expect(undeclared({ root, others }, null).map(({ name }) => name)).toEqual(OPEN);
    expect(castingFor({ root, others }, { chaos: null, real: [] })).toEqual({ services: [], faked: OPEN, real: [] });
  });

  test("runs its own code where a service stands in, and only there", async () => {
    const of = family();
    await callAll(of, { standIns: { keyed: "service", "worker.probed": "service", "desk_*": "service" } });
    expect(of.reached).toEqual(["boss.keyed", "desk.unsafe", "worker.probed"]);
  });

  test("runs its own code where the user typed its name, and only there", async () => {
    const of = family();
    await callAll(of, { real: ["unsafe", "worker.unsafe"] });
    expect(of.reached).toEqual(["boss.unsafe", "worker.unsafe"]);
  });

  test("is replaced by the reply of its file, although the user typed the names of all others", async () => {
    const of = family();
    const reply = ({ usd }: { readonly usd: number }) => ({ paid: usd });
    await callAll(of, { standIns: { keyed: reply }, real: ["keyed"] });
    expect(of.reached).toEqual([]);
  });
});

test.each<[says: string, chaos: Partial<Chaos>, message: RegExp]>([
  [
    "names a tool that no agent has",
    { standIns: { pay: () => null } },
    /standIns of chaos names pay: agent boss has no/,
  ],
  ["names an agent that is not dispatched", { standIns: { "other.keyed": () => null } }, /names other.keyed/],
  ["names a service whose effects nothing returns", { standIns: { keyed: "service" } }, /write effects as well/],
])("refuses a file that %s", (_, options, message) => {
  const { boss: root, agents: others } = family();
  const chaos = defineChaos({ input: () => ({}), ...options });
  expect(() => castingFor({ root, others }, { chaos, real: [] })).toThrow(message);
});

test.each<[by: string, casting: Partial<Parameters<typeof countingFor>[1]>, hasEffects: boolean, asked: number]>([
  ["other side", { services: ["pay"] }, true, 1],
  ["other side", { real: ["pay"] }, true, 1],
  ["calls", { real: ["pay"] }, false, 0],
  // What its file counts may be a real service: it is not asked where nothing acts there.
  ["fakes", { faked: ["pay"] }, true, 0],
  ["calls", {}, false, 0],
])("counts by %s where the tools are %o, effects: %s", async (by, casting, hasEffects, times) => {
  let asked = 0;
  const effects = (): [] => ((asked += 1), []);
  const chaos = defineChaos({ input: () => ({}), ...(hasEffects ? { effects } : {}) });
  const counting = countingFor(chaos, { services: [], faked: [], real: [], ...casting });
  expect(await counting.effects(temporaryDir())).toEqual([]);
  expect({ by: counting.by, asked }).toEqual({ by, asked: times });
});

describe("a fake", () => {
  const standing = (dir: string, task: number | null = 1) => {
    const { boss } = family();
    const trial = { root: "boss", standIns: {}, real: [], fakes: new Fakes(dir), taskInHand: () => task };
    return { tools: agentStandingIn(boss, trial).tools, fakes: new Fakes(dir) };
  };

  test.each([
    ["keyed", 1],
    ["idempotent", 1],
    ["probed", 2],
    ["unsafe", 2],
  ])("of a %s tool has %i effects after two calls with one key, also in two processes", async (name, times) => {
    const dir = temporaryDir();
    for (const { tools } of [standing(dir), standing(dir)]) await tools[name]?.run(contextOf(5, "k1"));
    const effect = { tool: name, id: "k1", of: 'task 1: {"usd":5}' };
    expect(standing(dir).fakes.effects()).toEqual(Array.from({ length: times }, () => effect));
  });

  test("answers a probe by what it knows, and takes back what is undone", async () => {
    const { tools, fakes } = standing(temporaryDir(), null);
    const { probed } = tools;
    const asked = { ...contextOf(5, "k1"), before: null } as never;
    const undone = { ...contextOf(5, "u1"), of: { key: "k1", result: null } } as never;
    expect({ probe: await probed?.probe?.(asked), undoProbe: await probed?.undo?.probe?.(undone) }).toEqual({
      probe: { kind: "absent" },
      undoProbe: { kind: "absent" },
    });
    await probed?.run(contextOf(5, "k1"));
    expect(await probed?.probe?.(asked)).toEqual({ kind: "happened", result: { ok: true } });
    expect(fakes.effects()).toMatchObject([{ of: '{"usd":5}' }]);
    await probed?.undo?.run(undone);
    expect(await probed?.undo?.probe?.(undone)).toEqual({ kind: "happened", result: null });
    expect(fakes.effects()).toEqual([]);
    expect(probed?.before).toBeUndefined();
  });
});

test.each<[says: string, schema: z.ZodType | null]>([
  ["none", null],
  ["a nested object", z.object({ id: z.string().min(8), at: z.iso.datetime(), more: z.array(z.int().min(3)).min(2) })],
  ["a union", z.union([z.object({ kind: z.literal("a") }), z.null()])],
  ["formats", z.object({ mail: z.email(), id: z.uuid(), url: z.url(), day: z.iso.date() })],
  ["numbers", z.tuple([z.number().gt(2).lt(4), z.int().positive(), z.number().multipleOf(5), z.number().negative()])],
  ["a default", z.object({ paid: z.boolean().default(true), as: z.enum(["x", "y"]), note: z.string().optional() })],
])("a result is made up that fits the schema: %s", (_, schema) => {
  const sample = sampleFor(schema);
  expect(sample).not.toBeUndefined();
  expect(schema?.safeParse(sample).success ?? true).toBe(true);
});

test("a tool whose result cannot be made up is named, unless its file gives one or its server lists it", () => {
  const output = z.string().regex(/^B\d+$/);
  const { boss, worker } = family();
  const book = tool({ input, output, effect: "keyed", run: () => "B1" });
  const agents = [
    { ...boss, tools: { book, ...boss.tools } },
    { ...worker, tools: { book } },
  ] as const;
  const family_ = { root: agents[0], others: agents };
  const standIns = { book: () => "B7" };
  const casting = castingFor(family_, { chaos: defineChaos({ input: () => ({}), standIns }), real: [] });
  expect(withoutResult(agents, casting, standIns)).toEqual(["worker.book"]);
  const typed = castingFor(family_, { chaos: null, real: ["book", "worker.book"] });
  expect(withoutResult(agents, typed, {})).toEqual([]);
  expect(sampleFor(output)).toBeUndefined();
});

describe("a call that asks for approval", () => {
  const gate = { tool: "pay", args: {}, reason: "it is much" };

  test("is decided by the rule of the file, unless a decision was typed, and never by nothing", () => {
    const chaos = { decide: () => "deny" as const };
    expect([gateRule(chaos, null)(gate), gateRule(chaos, "approve")(gate)]).toEqual(["deny", "approve"]);
    expect(() => gateRule(null, null)(gate)).toThrow(GateUndecided);
    expect(() => gateRule({}, null)(gate)).toThrow("a call of pay asks for approval (it is much), and nothing decides");
    expect(() => gateRule({ decide: () => "yes" as "deny" }, null)(gate)).toThrow(
      /returned yes for pay: return "approve"/,
    );
  });

  const failing = (): never => {
    throw new Error("no rule today");
  };
  test.each<[says: string, approval: Tool["approval"], decision: "approve" | "deny" | null, ran: number]>([
    ["runs once it is approved", "always", "approve", 1],
    ["does not run when it is denied", "always", "deny", 0],
    ["does not run without a rule", "always", null, 0],
    ["asks where its rule gives a reason", () => "much", "deny", 0],
    ["asks where its rule fails", failing, "deny", 0],
    ["does not ask where its rule gives none", () => false, "deny", 1],
  ])("of a plain loop %s", async (_, approval, decision, times) => {
    let ran = 0;
    const agent = defineAgent({
      ...{ name: "payer", version: "1", instructions: "", task: z.unknown(), budget: { beats: 5 } },
      model: scriptedModel({
        name: "m",
        reply: ({ turn }) => (turn === 0 ? { calls: [{ tool: "pay", args: { usd: 1 } }] } : { text: "over" }),
      }),
      tools: { pay: tool({ input, effect: "unsafe", approval, run: () => (ran += 1) }) },
    }) as Agent;
    const { model } = modelsOf(agent);
    const rig = rigFor({ dir: temporaryDir(), plan: { taskOf: {}, killOf: {} }, taskInHand: () => null });
    const gates = gateRule(null, decision);
    const ended = plainLoop({ agent, model, rig, gates, task: {}, secrets: { get: async () => "" }, file: null });
    if (decision === null) await expect(ended).rejects.toThrow(GateUndecided);
    else expect(await ended).toMatchObject({ status: "completed" });
    assertSafety("a plain loop runs no call that was not approved", () => expect(ran).toBe(times));
  });
});
