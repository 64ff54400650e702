/** Epochs, takeovers, answers, and stores that lie: what an invocation does when it is not alone or cannot be sure. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Agent } from "../../../src/ports/agent.ts";
import { defineAgent, scriptedModel, tool } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { executionName } from "../../../src/protocol/ids.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { END_NOTIFICATION } from "../../../src/protocol/row-end-notification.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { ledger, show, timeline, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { withCalls } from "../../../src/testing/decisions.ts";
import {
  attemptBeat,
  beginRun,
  createLocalHarness,
  drive,
  killableWorld,
  runnerOf,
} from "../../support/harness/drive.ts";

/** `act` once, then the end. Each run of the tool goes through `run`. */
function actor(effect: "none" | "keyed" | "unsafe", run: (key: string) => unknown): Agent {
  return defineAgent({
    name: "actor",
    version: "1",
    instructions: "",
    task: z.object({}),
    model: scriptedModel({
      name: "actor-model",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
    }),
    tools: { act: tool({ input: z.object({}), effect, run: ({ key }) => run(key) }) },
  }) as Agent;
}

const never = (): Promise<never> => new Promise(() => undefined);

/** A beat that reaches its tool and is never heard of again. */
async function dieInTool(world: World, effect: "none" | "keyed" | "unsafe") {
  const reached = Promise.withResolvers<string>();
  const stuck = actor(effect, (given) => {
    reached.resolve(given);
    return never();
  });
  const payload = await beginRun(world, stuck, {});
  const mortals = killableWorld(world);
  void attemptBeat(runnerOf(mortals.world, stuck), payload);
  const key = await reached.promise;
  mortals.kill();
  return { payload, key };
}

describe("a crash during a tool call", () => {
  test.each(["none", "keyed"] as const)("%s runs again at once with the same key", async (effect) => {
    const { world } = createLocalHarness();
    const { payload, key } = await dieInTool(world, effect);
    const keys: string[] = [];
    const runner = runnerOf(
      world,
      actor(effect, (given) => keys.push(given)),
    );
    expect(await attemptBeat(runner, payload, 1)).toMatchObject({ reply: { route: "beat" } });
    expect(keys).toEqual([key]);
    const events = (await timeline(world, { run: payload.run, after: 0 })) ?? [];
    const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
    expect(rules).toEqual(["takeover"]);
    expect(await ledger(world, payload.run)).toMatchObject([{ status: "succeeded", attempts: 2 }]);
  });

  test("unsafe blocks the run, names the call, and repeats nothing by itself", async () => {
    const { world } = createLocalHarness();
    const { payload } = await dieInTool(world, "unsafe");
    let runs = 0;
    const runner = runnerOf(
      world,
      actor("unsafe", () => (runs += 1)),
    );
    const parked = await attemptBeat(runner, payload, 1);
    expect(parked).toMatchObject({ reply: { route: "park" } });
    if (parked.kind !== "beat") throw new Error("no reply");
    // Woken for nothing, it parks again.
    expect(await attemptBeat(runner, parked.reply)).toMatchObject({ reply: { route: "park" } });
    expect(runs).toBe(0);
    expect(await show(world, payload.run)).toMatchObject({ status: "blocked", unknown: [{ call: "c1", tool: "act" }] });
  });
});

describe("an operator's answer", () => {
  async function blocked() {
    const tools = createLocalHarness({ skewMs: 1, settleMs: 1 }, 2_000);
    const { world, clock } = tools;
    const { payload, key } = await dieInTool(world, "unsafe");
    const keys: string[] = [];
    const runner = runnerOf(
      world,
      actor("unsafe", (given) => keys.push(given)),
    );
    const taken = await attemptBeat(runner, payload, 1);
    if (taken.kind !== "beat") throw new Error("no reply");
    const said = { run: payload.run, call: "c1", result: null, by: "ann", note: "I looked" };
    return { world, clock, payload: taken.reply, keys, key, runner, said };
  }

  test("*succeeded* is applied at once, with its result", async () => {
    const { world, payload, keys, runner, said } = await blocked();
    expect(await reconcile(world, { ...said, as: "succeeded", result: { ok: 1 } })).toEqual({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(keys).toEqual([]);
    expect(await ledger(world, payload.run)).toMatchObject([{ status: "reconciled" }]);
    const results = (await transcript(world, payload.run))?.filter(({ role }) => role === "tool");
    expect(results).toMatchObject([{ parts: [{ outcome: "succeeded", value: { json: { ok: 1 } } }] }]);
  });

  test("schedule 35: *failed* and *retry* are refused until effectsSettleAt, then each continues the run", async () => {
    for (const as of ["failed", "retry"] as const) {
      const { world, clock, payload, keys, key, runner, said } = await blocked();
      const early = await reconcile(world, { ...said, as });
      if (early.kind !== "tooEarly") throw new Error(`not refused: ${early.kind}`);
      expect((await world.table.read(payload.run, clock.now()))?.wakeCount).toBe(0);
      clock.moveTo(early.reconcilableFrom + 1);
      expect(await reconcile(world, { ...said, as })).toEqual({ kind: "accepted" });
      expect(await reconcile(world, { ...said, as })).toMatchObject({ kind: "duplicate" });
      expect(await drive(runner, payload)).toMatchObject({ route: "done" });
      expect(keys).toEqual(as === "retry" ? [key] : []);
      expect(await reconcile(world, { ...said, as })).toMatchObject({ kind: "stale", unknown: [] });
    }
  });

  test("about a call that is not unknown, or a missing run, is refused without a write", async () => {
    const { world, said } = await blocked();
    expect(await reconcile(world, { ...said, call: "c9", as: "retry" })).toEqual({ kind: "stale", unknown: ["c1"] });
    const other = `local-${"a".repeat(26)}`;
    expect(await reconcile(world, { ...said, run: other, as: "retry" })).toEqual({ kind: "missing" });
  });
});

describe("epochs", () => {
  test("fence a zombie that returns from its tool: no version, no result, no second end", async () => {
    const { world } = createLocalHarness();
    const [reached, thawed] = [Promise.withResolvers<undefined>(), Promise.withResolvers<string>()];
    const frozen = actor("keyed", () => {
      reached.resolve(undefined);
      return thawed.promise;
    });
    const payload = await beginRun(world, frozen, {});
    const zombie = attemptBeat(runnerOf(world, frozen), payload);
    await reached.promise;
    const runner = runnerOf(
      world,
      actor("keyed", () => "in time"),
    );
    const taken = await attemptBeat(runner, payload, 1);
    if (taken.kind !== "beat") throw new Error("no reply");
    thawed.resolve("too late");
    expect(await zombie).toMatchObject({ reply: { route: "superseded" } });
    expect(await drive(runner, taken.reply)).toMatchObject({ route: "done" });
    const words = JSON.stringify(await transcript(world, payload.run));
    expect(words).toContain("in time");
    expect(words).not.toContain("too late");
  });

  test("schedule 24: a run whose beats keep dying is handed over, and ends after too many deaths", async () => {
    const { world, clock } = createLocalHarness({ skewMs: 1 }, 600);
    let reach = (): void => undefined;
    const stuck = actor("none", () => {
      reach();
      return never();
    });
    const agent = { ...stuck, budget: { ...stuck.budget, takeovers: 1 } };
    let payload = await beginRun(world, agent, {});
    const task = runTask(runnerOf(world, agent));
    const invocation = () => ({ deadline: clock.now() + 600, drain: new AbortController().signal });
    for (let chain = 1; chain <= 2; chain += 1) {
      const mortals = killableWorld(world);
      const reached = new Promise<void>((resolve) => (reach = resolve));
      void attemptBeat(runnerOf(mortals.world, agent), payload);
      await reached;
      mortals.kill();
      const { run, born, epoch } = payload;
      const dead = { execution: executionName(run, born, chain), epoch, retry: 0 };
      const rescue = { kind: "rescue", payload, dead } as const;
      const held = await task(rescue, invocation());
      if (held.kind !== "rescue" || held.until === null) throw new Error("a live lease was taken");
      clock.moveTo(held.until + 1);
      expect(await task(rescue, invocation())).toEqual({ kind: "rescue", until: null });
      // Schedule 39: the same rescue once more starts the same successor and no other.
      expect(await task(rescue, invocation())).toEqual({ kind: "rescue", until: null });
      const row = await world.table.read(payload.run, clock.now());
      expect(row).toMatchObject({ chain: chain + 1, takeovers: chain, deaths: chain, owner: null });
      payload = { ...payload, chain: chain + 1, epoch: row?.epoch ?? 0 };
    }
    // Its bound is reached: the rescue itself ended it, since no beat of it might live to do so .
    const reply = await drive(runnerOf(world, agent), payload);
    expect(reply.route).toBe("failed");
    expect(await show(world, payload.run)).toMatchObject({ status: "failed", failure: { code: "Abandoned" } });
  });
});

describe("a store with a defect", () => {
  test.each([
    ["a missing snapshot", async () => null],
    ["other bytes under its key", async () => new Uint8Array([1, 2, 3])],
  ])("%s: the run stays unchanged and an alarm is raised", async (_, get) => {
    const { world, records } = createLocalHarness();
    const agent = actor("none", () => 1);
    const payload = await beginRun(world, agent, {});
    const lying: World = { ...world, objects: { ...world.objects, get } };
    expect(await attemptBeat(runnerOf(lying, agent), payload)).toMatchObject({ reply: { route: "superseded" } });
    expect(records.filter(({ level }) => level === "alarm")).toMatchObject([{ what: "Unreadable" }]);
    expect(await world.table.read(payload.run, world.clock.now())).toMatchObject({ version: 0, status: "running" });
  });

  test("a lost response to any write changes nothing: the same write is sent again", async () => {
    const { world } = createLocalHarness();
    const lossy = losing(world);
    let runs = 0;
    const agent = actor("keyed", () => (runs += 1));
    const payload = await beginRun(lossy, agent, {});
    expect(await drive(runnerOf(lossy, agent), payload)).toMatchObject({ route: "done" });
    expect(runs).toBe(1);
    const row = await world.table.read(payload.run, world.clock.now());
    expect(row).toMatchObject({ takeovers: 0, status: "completed", endNotified: true });
  });
});

/** Every write is applied, and the first answer to each is lost. */
function losing({ table, objects, ...world }: World): World {
  const seen = new Set<string>();
  const losingOnce = async <O>(name: string, write: () => Promise<O>) => {
    const outcome = await write();
    if (seen.has(name)) return outcome;
    seen.add(name);
    return { kind: "ambiguous", why: "the answer was lost" } as const;
  };
  return {
    ...world,
    table: withCalls(table, {
      create: (of) => losingOnce(`create ${of.born}`, () => table.create(of)),
      claim: (of) => losingOnce(`claim ${of.owner}`, () => table.decide(of, CLAIM)),
      commit: (of) => losingOnce(`commit ${of.commitId}`, () => table.decide(of, COMMIT)),
      recordEndNotified: (of) => losingOnce(`tell ${of.run}`, () => table.decide(of, END_NOTIFICATION)),
    }),
    objects: { ...objects, put: (key, bytes) => losingOnce(`put ${key}`, () => objects.put(key, bytes)) },
  };
}

test("schedule 20: a run whose execution has ended is handed over as soon as it is readable again", async () => {
  const { world, clock } = createLocalHarness({ skewMs: 1, overdueMs: 1 }, 600);
  const agent = actor("none", () => 1);
  const payload = await beginRun(world, agent, {});
  const closed = { ...world.chain, start: async () => ({ kind: "exists", running: false }) as const };
  const started: unknown[] = [];
  const chain = {
    ...closed,
    start: async (name: string, of: unknown) => {
      started.push(of);
      return name.endsWith("-1") ? closed.start() : ({ kind: "started" } as const);
    },
  };
  const invocation = () => ({ deadline: clock.now() + 600, drain: new AbortController().signal });
  const lost: World = { ...world, chain, objects: { ...world.objects, get: async () => null } };
  expect(await attemptBeat(runnerOf(lost, agent), payload)).toMatchObject({ reply: { route: "superseded" } });
  await runTask(runnerOf(lost, agent))({ kind: "sweep" }, invocation());
  expect(started).toEqual([]);
  const found = runTask(runnerOf({ ...world, chain }, agent));
  const { leaseUntil } = (await world.table.read(payload.run, clock.now())) ?? {};
  clock.moveTo((leaseUntil ?? 0) + 1);
  await found({ kind: "sweep" }, invocation());
  const row = await world.table.read(payload.run, clock.now());
  expect(row).toMatchObject({ chain: 2, owner: null, takeovers: 1 });
  expect(started.at(-1)).toMatchObject({ chain: 2, epoch: row?.epoch });
});

test("a store that never responds ends the invocation, and the next one continues", async () => {
  const { world } = createLocalHarness();
  const agent = actor("none", () => 1);
  const payload = await beginRun(world, agent, {});
  const dead: World = {
    ...world,
    table: withCalls(world.table, { commit: async () => ({ kind: "ambiguous", why: "503" }) }),
  };
  await expect(attemptBeat(runnerOf(dead, agent), payload)).rejects.toThrow("5 times without an answer: 503");
  expect(await attemptBeat(runnerOf(world, agent), payload, 1)).toMatchObject({ reply: { route: "beat" } });
});
