/** What a tool can do wrong, and what becomes of it: told to the model or asked of a person, never a broken run. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { OutcomeUnknown, defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { attemptBeat, beginRun, createLocalHarness, drive, passTime, runnerOf } from "../../support/harness/drive.ts";

/** Calls `act` once, then says what came back. */
function agentWith(act: Partial<Tool> & Pick<Tool, "run">, effect: Tool["effect"] = "none"): Agent {
  return defineAgent({
    name: "one",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "one-model",
      reply: ({ calls }) => {
        const last = calls.at(-1);
        return last === undefined ? { calls: [{ tool: "act", args: {} }] } : { text: JSON.stringify(last) };
      },
    }),
    tools: { act: tool({ input: z.object({}), effect, ...act }) },
  }) as Agent;
}

async function resultText(agent: Agent): Promise<string> {
  const { world } = createLocalHarness();
  const reply = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(reply.route).toBe("done");
  return String((await show(world, reply.run))?.result);
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

describe("a tool's result that cannot be stored", () => {
  test.each([
    ["a function", () => () => 1, "is not JSON"],
    ["a bigint", () => 10n, "a bigint is not JSON"],
    ["a cycle", () => cycle, "circular"],
    ["not a number", () => ({ price: Number.NaN }), "NaN is not JSON"],
    ["a Map", () => new Map([[1, 2]]), "a Map is not JSON"],
    ["50 MB", () => "x".repeat(50 * 1024 * 1024), "it is too large: as JSON"],
  ])("%s is reported to the model", async (_, run, why) => {
    const words = await resultText(agentWith({ run }));
    expect(words).toContain("ResultRefused");
    expect(words).toContain(why);
    expect(words).toContain('"outcome":"failed"');
  });

  test("counts as happened for an outside effect", async () => {
    expect(await resultText(agentWith({ run: () => 10n }, "keyed"))).toContain('"outcome":"succeeded"');
  });

  test("undefined becomes null, and large results reach a check in full", async () => {
    expect(await resultText(agentWith({ run: () => undefined }))).toContain('"result":null');
    const words = await resultText(agentWith({ run: () => "y".repeat(100_000) }));
    expect(words.length).toBeLessThan(20_000);
  });
});

test("a tool that throws has failed with its message", async () => {
  const run = (): never => {
    throw new Error("the airline is on strike");
  };
  const words = await resultText(agentWith({ run }, "keyed"));
  expect(words).toContain('"outcome":"failed"');
  expect(words).toContain("the airline is on strike");
});

describe("a tool that never returns", () => {
  test("keyed: runs again with the same key, each time in another invocation; then the model gets the failure", async () => {
    const harness = createLocalHarness({ abortGraceMs: 10 });
    const { world, clock } = harness;
    const keys: string[] = [];
    const run = ({ key }: { key: string }): Promise<never> => {
      keys.push(key);
      void passTime(harness, 30);
      return new Promise<never>(() => undefined);
    };
    const agent = agentWith({ run, timeoutMs: 20 }, "keyed");
    const reply = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
    expect(reply.route).toBe("done");
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    const [entry] = (await ledger(world, reply.run)) ?? [];
    expect(entry).toMatchObject({ status: "unknown", attempts: 3 });
    expect(String((await show(world, reply.run))?.result)).toContain("It may have happened");
    // Schedule 45: such ends of a process are no deaths.
    expect((await world.table.read(reply.run, clock.now()))?.takeovers).toBe(0);
  });

  test("unsafe: is unknown at once, the process ends, and effectsSettleAt rises to its own lease (schedule 34)", async () => {
    const harness = createLocalHarness({ abortGraceMs: 10 });
    const { world, clock } = harness;
    let runs = 0;
    const run = (): Promise<never> => {
      runs += 1;
      void passTime(harness, 30);
      return new Promise<never>(() => undefined);
    };
    const agent = agentWith({ run, timeoutMs: 20 }, "unsafe");
    const runner = runnerOf(world, agent);
    const payload = await beginRun(world, agent, {});
    const before = clock.now();
    const ended = await attemptBeat(runner, payload);
    expect(ended).toMatchObject({ kind: "exit", reply: { route: "beat" } });
    const row = await world.table.read(payload.run, clock.now());
    expect(row?.effectsSettleAt).toBeGreaterThanOrEqual(before + world.limits.beatMs);
    const next = await attemptBeat(runner, payload, 1);
    expect(next).toMatchObject({ kind: "beat", reply: { route: "park" } });
    expect(runs).toBe(1);
    const shown = await show(world, payload.run);
    expect(shown).toMatchObject({ status: "blocked", inProgress: true, unknown: [{ call: "c1", tool: "act" }] });
    const asked = { run: payload.run, call: "c1", result: null, by: "test", note: null };
    expect(await reconcile(world, { ...asked, as: "retry" })).toMatchObject({ kind: "tooEarly" });
    expect(await reconcile(world, { ...asked, as: "succeeded" })).toEqual({ kind: "accepted" });
  });

  test("is no failure when it stops at its signal, and does not end the process", async () => {
    const harness = createLocalHarness();
    const { world } = harness;
    let runs = 0;
    const run = ({ signal }: { signal: AbortSignal }): Promise<string> => {
      runs += 1;
      if (runs > 1) return Promise.resolve("there it is");
      void passTime(harness, 20);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
    };
    const agent = agentWith({ run, timeoutMs: 20 }, "keyed");
    const runner = runnerOf(world, agent);
    const payload = await beginRun(world, agent, {});
    expect(await attemptBeat(runner, payload)).toMatchObject({ kind: "beat" });
    expect(runs).toBe(2);
    const [entry] = (await ledger(world, payload.run)) ?? [];
    expect(entry).toMatchObject({ status: "succeeded" });
  });
});

test("a tool that reports an unknown outcome is retried with its key; an unsafe one asks an operator", async () => {
  let runs = 0;
  const run = (): string => {
    runs += 1;
    if (runs === 1) throw new OutcomeUnknown("the connection broke after the request left");
    return "found";
  };
  expect(await resultText(agentWith({ run }, "keyed"))).toContain("found");
  runs = 0;
  const agent = agentWith({ run }, "unsafe");
  const { world } = createLocalHarness();
  const reply = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(reply.route).toBe("park");
  expect(runs).toBe(1);
});

test("several calls of one reply run side by side and are committed together", async () => {
  const waiting: (() => void)[] = [];
  const run = (): Promise<string> =>
    new Promise((resolve) => {
      waiting.push(() => resolve("both"));
      if (waiting.length === 2) for (const go of waiting) go();
    });
  const agent = defineAgent({
    name: "two",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "two-model",
      reply: ({ calls }) => {
        const act = { tool: "act", args: {} };
        return calls.length === 0 ? { calls: [act, act] } : { text: `${calls.length} results` };
      },
    }),
    tools: { act: tool({ input: z.object({}), effect: "keyed", run }) },
  });
  const { world } = createLocalHarness();
  const reply = await drive(runnerOf(world, agent as Agent), await beginRun(world, agent as Agent, {}));
  expect((await show(world, reply.run))?.result).toBe("2 results");
  const events = (await timeline(world, { run: reply.run, after: 0 })) ?? [];
  const results = events.filter((event) => event.kind === "ToolResultRecorded");
  expect(new Set(results.map(({ version }) => version)).size).toBe(1);
  const keys = events.flatMap((event) => (event.kind === "ToolIntended" ? [event.key] : []));
  expect(new Set(keys).size).toBe(2);
});

test("changes that a tool makes to its arguments stay in the tool", async () => {
  const seen: unknown[] = [];
  const schema = z.object({ list: z.any() });
  const agent = defineAgent({
    name: "greedy",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "greedy-model",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: { list: [1] } }] } : { text: "over" }),
    }),
    tools: {
      act: tool({
        input: schema,
        effect: "keyed",
        run: ({ input }) => {
          const list = input.list as number[];
          seen.push([...list]);
          list.push(2);
          if (seen.length < 3) throw new OutcomeUnknown("the answer was lost");
          return "at last";
        },
      }),
    },
  }) as Agent;
  const { world } = createLocalHarness();
  const reply = await drive(runnerOf(world, agent), await beginRun(world, agent, {}));
  expect(seen).toEqual([[1], [1], [1]]);
  const events = (await timeline(world, { run: reply.run, after: 0 })) ?? [];
  expect(events.find(({ kind }) => kind === "ModelCallCompleted")).toMatchObject({
    parts: [{ args: { json: { list: [1] } } }],
  });
});
