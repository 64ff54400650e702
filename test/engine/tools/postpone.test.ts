/** Calls that were agreed and that a beat has no time for: none is lost, and a call that never fits asks an operator. */
import { EFFECT_NAMES, type Effect } from "../../../src/core/calls/effects.ts";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { OutcomeUnknown, defineAgent, scriptedModel, sleep } from "../../../src/index.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import type { Payload, TaskResult } from "../../../src/protocol/chain.ts";
import type { Agent, Tool } from "../../../src/ports/agent.ts";
import { ledger, show } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { decideGate, runUntilGate, stateOf, toolResultsOf } from "../../support/agents/approval-agent.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import {
  createChainHarness,
  createHarness,
  neverSettles,
  scriptedAgent,
  type Harness,
  flushPromises,
} from "../../support/harness/harness.ts";
import { wrapTableCall } from "../../support/harness/chain-steps.ts";
import { postponements } from "../../support/runs/slow-commits.ts";
import { assertSafety } from "../../support/gate/safety.ts";
import type { World } from "../../../src/ports/world.ts";

/** Commits of this world take so long. A beat of 3 s has 2.5 s for its work. */
const withSlowCommits = (harness: Harness, tookMs: () => number): World =>
  wrapTableCall(harness.world, "commit", (commit) => async (asked) => {
    const outcome = await commit(asked);
    harness.clock.moveTo(harness.clock.now() + tookMs());
    return outcome;
  });

/** One call that takes up to 2 s, and how long the commits of its run take. */
function slowly(effect: Effect, more: Partial<Tool> = {}) {
  const harness = createHarness();
  const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) as const } : {};
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { effect, timeoutMs: 2_000, ...probe, ...(more as object) },
  });
  const commits = { tookMs: 0 };
  const runner = runnerOf(
    withSlowCommits(harness, () => commits.tookMs),
    made.agent,
  );
  return { harness, runner, commits, ...made };
}

async function next({ harness, runner }: Pick<ReturnType<typeof slowly>, "harness" | "runner">, payload: Payload) {
  const result = await harness.advanceUntilSettled(attemptBeat(runner, payload));
  if (result.kind !== "beat") throw new Error(`the beat ended as ${result.kind}`);
  return result.reply;
}

describe.each(EFFECT_NAMES)("%s: a call for which no time is left", (effect) => {
  test("is made by the next beat, although it was released already", async () => {
    const of = slowly(effect);
    const payload = await beginRun(of.harness.world, of.agent, {});
    of.commits.tookMs = 600;
    const first = await next(of, payload);
    expect(first.route).toBe("beat");
    expect(of.done).toEqual([]);
    const state = await stateOf(of.harness.world, payload.run);
    expect(state.open).toMatchObject([{ status: "permitted", releasedBy: null, postponed: { missed: 0 } }]);
    expect(await ledger(of.harness.world, payload.run)).toMatchObject([{ status: "intended", attempts: 0 }]);
    of.commits.tookMs = 0;
    const last = await drive(of.runner, first);
    expect(last.route).toBe("done");
    assertSafety("the call is made once", () => expect(of.done).toHaveLength(1));
    expect(of.done[0]?.key).toBe(state.open[0]?.intent?.key);
    expect(await toolResultsOf(of.harness, payload.run)).toMatchObject([{ outcome: "succeeded" }]);
    expect((await stateOf(of.harness.world, payload.run)).spent.toolCalls).toBe(1);
  });

  test("asks an operator after three beats without room, and is made once there is room", async () => {
    const of = slowly(effect);
    const { harness, commits } = of;
    const payload = await beginRun(harness.world, of.agent, {});
    commits.tookMs = 600;
    let reply = await next(of, payload);
    for (let beats = 0; beats < 3; beats += 1) {
      expect({ route: reply.route, phase: (await stateOf(harness.world, payload.run)).phase }).toEqual({
        route: "beat",
        phase: "ExecutingTools",
      });
      reply = await next(of, reply);
    }
    expect(reply.route).toBe("park");
    expect(of.done).toEqual([]);
    const shown = await show(harness.world, payload.run);
    expect(shown).toMatchObject({
      status: "blocked",
      failure: null,
      unknown: [
        { call: "c1", unbegun: expect.stringMatching(/2000 ms \(timeoutMs of pay\).*the 3000 ms of this beat/) },
      ],
    });
    expect((await postponements(harness, payload.run)).map(({ missed }) => missed)).toEqual([
      undefined,
      ...[true, true, true],
    ]);
    const said = { run: payload.run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
    commits.tookMs = 0;
    expect((await drive(of.runner, reply)).route).toBe("done");
    assertSafety("the call is made once", () => expect(of.done).toHaveLength(1));
    expect(await toolResultsOf(harness, payload.run)).toMatchObject([{ outcome: "succeeded" }]);
  });
});

test("a call that lacks time does not keep the others of its reply from running", async () => {
  const harness = createHarness();
  const { agent, done } = sideEffectAgent({
    reply: replyWithCalls([
      ["pay", "ada", 5],
      ["mail", "bob", 1],
    ]),
    pay: { effect: "unsafe", timeoutMs: 2_000 },
    mail: { effect: "unsafe", timeoutMs: 500 },
  });
  const { run, ...from } = await beginRun(harness.world, agent, {});
  const runner = runnerOf(
    withSlowCommits(harness, () => (done.length === 0 ? 600 : 0)),
    agent,
  );
  const first = await next({ harness, runner }, { run, ...from });
  expect(done.map(({ tool }) => tool)).toEqual(["mail"]);
  expect((await drive(runner, first)).route).toBe("done");
  expect(done.map(({ tool }) => tool)).toEqual(["mail", "pay"]);
});

test("a decision that was approved is carried out, whatever time its beat has", async () => {
  const harness = createHarness();
  const { ran, agent, payload, run } = await runUntilGate(harness, { timeoutMs: 2_000 });
  expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
  const commits = { tookMs: 600 };
  const runner = runnerOf(
    withSlowCommits(harness, () => commits.tookMs),
    agent,
  );
  let reply = await next({ harness, runner }, payload);
  expect({ route: reply.route, ran: ran.length }).toEqual({ route: "beat", ran: 0 });
  commits.tookMs = 0;
  reply = await drive(runner, reply);
  expect(reply.route).toBe("done");
  assertSafety("the call is made once", () => expect(ran).toHaveLength(1));
});

test("a human's *retry* is carried out by the next beat that has room, and is debited once", async () => {
  const of = slowly("unsafe");
  const { harness, commits } = of;
  const payload = await beginRun(harness.world, of.agent, {});
  let isLost = true;
  const pay = of.agent.tools["pay"] as Tool;
  const run: Tool["run"] = (context) => {
    if (!isLost) return pay.run(context);
    throw new OutcomeUnknown("the answer was lost");
  };
  const budget = { ...of.agent.budget, toolCalls: 1 };
  const agent = { ...of.agent, budget, tools: { ...of.agent.tools, pay: { ...pay, run } } };
  const runner = runnerOf(
    withSlowCommits(harness, () => commits.tookMs),
    agent,
  );
  let reply = await drive(runner, payload);
  expect(harness.row(payload.run).status).toBe("blocked");
  isLost = false;
  harness.clock.moveTo(harness.clock.now() + 20_000);
  const said = { run: payload.run, call: "c1", as: "retry", result: null, by: "ann", note: null } as const;
  expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
  commits.tookMs = 600;
  reply = await next({ harness, runner }, reply);
  expect({ route: reply.route, done: of.done.length }).toEqual({ route: "beat", done: 0 });
  commits.tookMs = 0;
  reply = await drive(runner, reply);
  expect(reply.route).toBe("done");
  assertSafety("the call is made once", () => expect(of.done).toHaveLength(1));
  expect((await stateOf(harness.world, payload.run)).spent.toolCalls).toBe(1);
});

test.each(["keyed", "probed"] as const)(
  "%s: one kill anywhere in the next beat neither loses nor doubles the call",
  async (effect) => {
    const plays = await forEachCrashPoint(async (crash) => {
      const harness = createChainHarness();
      const effects = new Set<string>();
      const acted: string[] = [];
      const agent = scriptedAgent({
        effect,
        timeoutMs: 2_000,
        run: ({ key }) => {
          acted.push(key);
          effects.add(key);
          return "acted";
        },
        ...(effect === "probed" && {
          probe: (key: string) => (effects.has(key) ? { kind: "happened", result: "seen" } : { kind: "absent" }),
        }),
      });
      const { run } = await beginRun(harness.world, agent, {});
      await harness.runAttempt(
        agent,
        withSlowCommits(harness, () => 600),
      );
      expect((await stateOf(harness.world, run)).open).toMatchObject([{ status: "permitted" }]);
      const out = harness.startAttempt();
      const { world, survives } = crashAtCall(harness.world, crash);
      let result: TaskResult | null = null;
      const isOver = await survives(async () => {
        result = await out.perform({ world, agent });
      });
      out.end(isOver ? result : null);
      await harness.runUntilIdle(agent);
      expect(harness.row(run).status).toBe("completed");
      assertSafety("the call has one effect", () => expect(effects.size).toBe(1));
      if (effect === "probed") assertSafety("a probed call is made once", () => expect(acted).toHaveLength(1));
      return isOver;
    });
    expect(plays).toBeGreaterThan(4);
  },
);

describe("a process that is asked to end", () => {
  const drained = async (of: ReturnType<typeof slowly>, payload: Payload) => {
    const drain = new AbortController();
    const attempt = { execution: executionName(payload.run, payload.born, 1), epoch: payload.epoch, retry: 0 };
    const deadline = of.harness.clock.now() + of.harness.world.limits.beatMs;
    of.harness.clock.after(1, () => drain.abort());
    const invocation = { deadline, drain: drain.signal };
    const result = await of.harness.advanceUntilSettled(beat(of.runner, { payload, attempt }, invocation));
    if (result.kind !== "beat") throw new Error(`the beat ended as ${result.kind}`);
    return result.reply;
  };

  test("in the pause before a retry leaves a probed call to the next one, which needs no probe", async () => {
    const probes: string[] = [];
    const probe = ({ key }: { readonly key: string }) => {
      probes.push(key);
      return { kind: "absent" } as const;
    };
    let tries = 0;
    const of = slowly("probed", { timeoutMs: 100, retry: { attempts: 2, backoffMs: 2_000 }, probe } as Partial<Tool>);
    const pay = of.agent.tools["pay"] as Tool;
    const run: Tool["run"] = (context) => {
      tries += 1;
      if (tries === 1) throw new Error("503 busy");
      return pay.run(context);
    };
    const agent = { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run } } };
    const busy = { ...of, agent, runner: runnerOf(of.harness.world, agent) };
    const payload = await beginRun(of.harness.world, agent, {});
    const first = await drained(busy, payload);
    expect(first.route).toBe("beat");
    expect(await postponements(of.harness, payload.run)).toEqual([{ kind: "postpone", call: "c1", after: "release" }]);
    expect((await stateOf(of.harness.world, payload.run)).open).toMatchObject([{ status: "permitted", attempts: 1 }]);
    const reply = await of.harness.advanceUntilSettled(drive(busy.runner, first));
    expect(reply.route).toBe("done");
    expect({ tries, probes }).toEqual({ tries: 2, probes: [] });
    expect(await toolResultsOf(of.harness, payload.run)).toMatchObject([{ outcome: "succeeded" }]);
  });
});

test("a keyed call whose earlier try gave no answer may have happened, so it is postponed as released", async () => {
  const of = slowly("keyed");
  const payload = await beginRun(of.harness.world, of.agent, {});
  const pay = { ...(of.agent.tools["pay"] as Tool) };
  const stuck = { ...of.agent, tools: { ...of.agent.tools, pay: { ...pay, run: neverSettles } } };
  const { world, kill } = killableWorld(of.harness.world);
  attemptBeat(runnerOf(world, stuck), payload).catch(() => undefined);
  await flushPromises();
  kill();
  of.commits.tookMs = 600;
  const result = await attemptBeat(of.runner, payload, 1);
  expect(await postponements(of.harness, payload.run)).toEqual([
    { kind: "postpone", call: "c1", after: "retry", missed: true },
  ]);
  expect((await stateOf(of.harness.world, payload.run)).open).toMatchObject([{ status: "started" }]);
  of.commits.tookMs = 0;
  expect((await drive(of.runner, result.kind === "beat" ? result.reply : payload)).route).toBe("done");
  assertSafety("the call is made once more", () => expect(of.done).toHaveLength(1));
});

test("a call without time is postponed before its release, and the beat after it makes it", async () => {
  const of = slowly("unsafe");
  const payload = await beginRun(of.harness.world, of.agent, {});
  of.commits.tookMs = 600;
  const first = await next(of, payload);
  // Its agent loads slowly, so the beat has no time for the call before it has done anything.
  const slow = {
    ...of.runner,
    agentOf: async (name: string) => {
      of.harness.clock.moveTo(of.harness.clock.now() + 600);
      return of.runner.agentOf(name);
    },
  };
  const second = await next({ harness: of.harness, runner: slow }, first);
  const last = (await postponements(of.harness, payload.run)).at(-1);
  expect(last).toEqual({ kind: "postpone", call: "c1", after: "intent", missed: true });
  of.commits.tookMs = 0;
  expect((await drive(of.runner, second)).route).toBe("done");
  assertSafety("the call is made once", () => expect(of.done).toHaveLength(1));
});

describe("a postponed call", () => {
  const postponedRun = async (more: Partial<Tool> = {}) => {
    const of = slowly("probed", more);
    const payload = await beginRun(of.harness.world, of.agent, {});
    of.commits.tookMs = 600;
    const reply = await next(of, payload);
    of.commits.tookMs = 0;
    return { ...of, reply, run: payload.run };
  };

  test("whose tool is gone waits for it, and is made once it is back", async () => {
    const { harness, agent, done, reply, run } = await postponedRun();
    const { pay: _, ...tools } = agent.tools;
    const without = await drive(runnerOf(harness.world, { ...agent, tools }), reply);
    expect(await show(harness.world, run)).toMatchObject({
      status: "blocked",
      unknown: [{ toolGone: true, unbegun: expect.any(String), reconcilableFrom: harness.clock.now() }],
    });
    expect((await drive(runnerOf(harness.world, agent), without)).route).toBe("done");
    assertSafety("the call is made once", () => expect(done).toHaveLength(1));
    expect((await stateOf(harness.world, run)).spent.toolCalls).toBe(1);
  });
});

test("an approved call is not lost to a before-image that cannot be taken for a while", async () => {
  const harness = createHarness();
  const made = scriptedAgent({ effect: "probed", probe: () => ({ kind: "absent" }), approval: "always" });
  let images = 0;
  const before = () => {
    images += 1;
    if (images === 1) throw new Error("503 busy");
    return { was: "there" };
  };
  const agent = { ...made, tools: { act: { ...(made.tools["act"] as Tool), before } } };
  const runner = runnerOf(harness.world, agent);
  const { run, ...from } = await beginRun(harness.world, agent, {});
  const waits = await drive(runner, { run, ...from });
  await decideGate(harness.world, { run, as: "approve" });
  expect((await drive(runner, waits)).route).toBe("done");
  expect(images).toBe(2);
  expect(await postponements(harness, run)).toEqual([{ kind: "postpone", call: "c1", after: "intent", missed: true }]);
  expect(await toolResultsOf(harness, run)).toMatchObject([{ outcome: "succeeded" }]);
});

test("a beat begins a wait, however little of its time is left", async () => {
  const harness = createHarness();
  let lateMs = 0;
  const agent = defineAgent({
    name: "sleeper",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "script",
      reply: () => {
        lateMs = 1_200;
        return { calls: [{ tool: "rest", args: { seconds: 30 } }] };
      },
    }),
    tools: { rest: sleep() },
  }) as Agent;
  const runner = runnerOf(harness.world, agent);
  const payload = await beginRun(harness.world, agent, {});
  const late = {
    ...runner,
    agentOf: async (name: string) => {
      harness.clock.moveTo(harness.clock.now() + lateMs);
      return runner.agentOf(name);
    },
  };
  const result = await attemptBeat(late, payload);
  expect(result).toMatchObject({ kind: "beat", reply: { route: "wait" } });
  expect(harness.row(payload.run).status).toBe("waiting");
});
