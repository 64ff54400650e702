/** What the sweeper finds and mends, and what it must not touch: ends, zombies, other sweepers, what it cannot read. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { show } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { begin } from "../support/drive.ts";
import { OVER, type Stage, actor, chainedStage, never, passing, replyOf, rowOf } from "../support/stage.ts";
import {
  beforeCall,
  dieInTool,
  dyingAfter,
  frozenBefore,
  hear,
  leave,
  lose,
  perform,
  playOut,
  rest,
  start,
  step,
  stop,
  sweep,
  withTakeovers,
} from "../support/steps.ts";
import { rewritten } from "../support/rewritten.ts";

const stageOfRuns = (): Stage => chainedStage({ overdueMs: 1_000 });

const happened = (world: World, run: string) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

/** Nobody holds it, and it did not move for so long that it is due, whatever it waits for. */
function due(on: Stage, run: string): void {
  const freeAt = Math.max(on.clock.now(), rowOf(on, run).leaseUntil ?? 0);
  on.clock.moveTo(freeAt + TIMES.waitSecondsMax * 1_000 + on.world.limits.overdueMs);
}

async function blocked(on: Stage): Promise<{ readonly agent: Agent; readonly row: Row }> {
  const agent = actor({ effect: "unsafe" });
  const { run } = await begin(on.world, agent, {});
  await dieInTool(on, agent);
  await playOut(on, agent);
  return { agent, row: rowOf(on, run) };
}

/** Each leaves a run that nobody drives, and that is due; its agent. */
const LEFT_ALONE: Readonly<Record<string, (on: Stage) => Promise<{ readonly agent: Agent; readonly run: string }>>> = {
  "its sender died after the bump": async (on) => {
    const { agent, row } = await blocked(on);
    void happened(dyingAfter(on.world, "deliver"), row.run);
    await rest();
    return { agent, run: row.run };
  },
  "its token is dead": async (on) => {
    const { agent, row } = await blocked(on);
    stop(on, row);
    expect(await happened(on.world, row.run)).toEqual({ kind: "accepted" });
    due(on, row.run);
    return { agent, run: row.run };
  },
  "no owner and a dead execution": async (on) => {
    const agent = actor({});
    const row = await start(on.world, { agent, key: "k" });
    await step(on, agent);
    stop(on, row);
    due(on, row.run);
    return { agent, run: row.run };
  },
  "a dead owner and a dead execution": async (on) => {
    const agent = actor({});
    const row = await start(on.world, { agent, key: "k" });
    await lose(on, agent, dyingAfter(on.world, "claim"));
    stop(on, row);
    due(on, row.run);
    return { agent, run: row.run };
  },
  "queued, and its execution was never started": async (on) => {
    const agent = actor({});
    void start(dyingAfter(on.world, "create"), { agent, key: "k" });
    await rest();
    return { agent, run: [...on.world.store.rows.keys()][0] ?? "" };
  },
  "queued, and its execution is closed": async (on) => {
    const agent = actor({});
    const row = await start(on.world, { agent, key: "k" });
    stop(on, row);
    return { agent, run: row.run };
  },
  "it has ended, and its parent is not told": async (on) => {
    const agent = actor({ reply: () => OVER });
    const row = await start(on.world, { agent, key: "k", parent: await begin(on.world, agent, {}) });
    // Its parent is at work elsewhere.
    leave(on);
    await lose(on, agent, dyingAfter(on.world, "commit"));
    stop(on, row);
    return { agent, run: row.run };
  },
  "it was handed over, and its successor was never started": async (on) => {
    const agent = actor({});
    const row = await start(on.world, { agent, key: "k" });
    await step(on, agent);
    const { run, born } = row;
    const now = on.clock.now();
    stop(on, row);
    await on.world.table.handOver({ run, born, now, chain: 1 });
    due(on, run);
    return { agent, run };
  },
};

test("schedule 20: an execution is over and its run is not, in every way that it can happen", async () => {
  for (const [what, scene] of Object.entries(LEFT_ALONE)) {
    const on = stageOfRuns();
    const { agent, run } = await scene(on);
    expect([what, await playOut(on, agent), rowOf(on, run).endNotified]).toEqual([what, 0, false]);
    await sweep(on.world);
    await playOut(on, agent);
    expect([what, rowOf(on, run).status, rowOf(on, run).endNotified]).toEqual([what, "completed", true]);
  }
});

test("schedule 31: a row of another version, or one whose snapshot cannot be read, is left alone", async () => {
  const on = stageOfRuns();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const alarms: string[] = [];
  const telemetry: World["telemetry"] = {
    record: ({ level, what }) => void (level === "alarm" ? alarms.push(what) : null),
  };
  const world = { ...on.world, telemetry };
  const known = rowOf(on, run);
  const newer = rewritten(known, { format: FORMAT + 1 });
  on.world.store.rows.set(run, newer);
  const out = leave(on);
  expect(await replyOf(perform(out.task, { world, agent }))).toMatchObject({ route: "wait" });
  hear(on, out, null);
  due(on, run);
  await sweep(world);
  expect(rowOf(on, run)).toEqual(newer);
  expect(alarms).toEqual(["Unreadable"]);
  on.world.store.rows.set(run, known);
  // Claimed by its retry, which cannot read what it claimed.
  const blind = { ...world, objects: { ...world.objects, get: async () => null } };
  expect(await replyOf(step(on, agent, blind))).toMatchObject({ route: "superseded" });
  const unread = rowOf(on, run);
  for (let round = 0; round < 3; round += 1) {
    due(on, run);
    await sweep(blind);
    expect(rowOf(on, run)).toEqual(unread);
  }
  expect(alarms).toHaveLength(5);
  // Once it can be read again it goes on.
  await sweep(world);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", chain: 2 });
});

test("schedule 79: one run cannot be judged, and every sweep that meets it first goes on to all others", async () => {
  const on = stageOfRuns();
  const agent = actor({});
  // Pages begin with the newest: a row that is damaged, one whose execution cannot be described, and the others.
  const others = [await start(on.world, { agent, key: "a" }), await start(on.world, { agent, key: "b" })];
  const mute = await start(on.world, { agent, key: "c" });
  const damaged = await start(on.world, { agent, key: "d" });
  const rows = [...others, mute, damaged];
  for (const [index, row] of rows.entries()) {
    stop(on, row);
    on.world.store.rows.set(row.run, { ...row, statusSince: row.statusSince + index });
  }
  due(on, mute.run);
  on.world.store.rows.set(damaged.run, {} as Row);
  const alarms: string[] = [];
  const telemetry: World["telemetry"] = {
    record: ({ level, what, run }) => void (level === "alarm" ? alarms.push(`${what} ${run}`) : null),
  };
  const begin: World["chain"]["start"] = async (name, payload) => {
    if (payload.run === mute.run) throw new StoreUnreachable("the executions cannot be described");
    return on.world.chain.start(name, payload);
  };
  const world = { ...on.world, telemetry, chain: { ...on.world.chain, start: begin } };
  await sweep(world);
  expect(others.map(({ run }) => rowOf(on, run).chain)).toEqual([2, 2]);
  expect(alarms).toEqual([`Unreadable ${damaged.run}`, `SweepFailed ${mute.run}`]);
  // Where the executions are away for more runs in a row than are passed over, the next sweep begins behind those.
  const asked: string[] = [];
  const away: World["chain"]["start"] = async (_, { run }) => {
    asked.push(run);
    throw new StoreUnreachable("the executions are away");
  };
  for (const key of "efghij") stop(on, await start(on.world, { agent, key }));
  due(on, mute.run);
  const without = { ...on.world, chain: { ...on.world.chain, start: away } };
  await expect(sweep(without)).rejects.toThrow("the executions are away");
  expect(asked).toHaveLength(5);
  await sweep(without);
  expect([asked.length, new Set(asked).size]).toEqual([9, 9]);
});

test("schedule 36: a zombie claims after a rescue has looked, and can act when the run would be abandoned", async () => {
  const on = chainedStage({ rescueMs: 100, entryAttemptsMax: 5 });
  const acts: string[] = [];
  const promises: (() => void)[] = [];
  const run = (): Promise<never> => {
    promises.push(() => acts.push(rowOf(on, payload.run).status));
    return never();
  };
  const agent = withTakeovers(actor({ effect: "unsafe", run, timeoutMs: 400 }), 1);
  const payload = await begin(on.world, agent, {});
  for (let death = 0; death < 5; death += 1) hear(on, leave(on), null);
  await step(on, agent);
  expect(rowOf(on, payload.run)).toMatchObject({ chain: 2, takeovers: 0 });
  for (let death = 0; death < 4; death += 1) hear(on, leave(on), null);
  const last = leave(on);
  const frozen = frozenBefore(on.world, "claim");
  const zombie = perform(last.task, { world: frozen.world, agent });
  hear(on, last, null);
  // It claims, its call outlives its timeout, and it releases: all that before the hand-over.
  const world = beforeCall(on.world, "handOver", async () => {
    frozen.thaw();
    expect(await passing(on, zombie)).toMatchObject({ kind: "exit" });
    on.world.store.rows.set(payload.run, { ...rowOf(on, payload.run), deaths: 2 });
  });
  const rescue = leave(on);
  hear(on, rescue, await perform(rescue.task, { world, agent }));
  const { effectsSettleAt, chain } = rowOf(on, payload.run);
  expect(chain).toBe(3);
  on.clock.moveTo(effectsSettleAt - 1);
  for (const act of promises) act();
  await playOut(on, agent);
  expect(acts).toEqual(["blocked"]);
  expect(rowOf(on, payload.run)).toMatchObject({ status: "failed", endNotified: true });
  expect(await show(on.world, payload.run)).toMatchObject({ failure: { code: "CrashLoop" } });
});

test("schedule 40: a sweeper decides to hand over, and a zombie commits the end before it does", async () => {
  const on = stageOfRuns();
  const agent = actor({ reply: () => OVER });
  const row = await start(on.world, { agent, key: "k" });
  const out = leave(on);
  const frozen = frozenBefore(on.world, "commit");
  const zombie = perform(out.task, { world: frozen.world, agent });
  await rest();
  hear(on, out, null);
  stop(on, row);
  due(on, row.run);
  let ended: Row | null = null;
  const world = beforeCall(on.world, "handOver", async () => {
    frozen.thaw();
    await zombie;
    ended = rowOf(on, row.run);
  });
  await sweep(world);
  expect(ended).toMatchObject({ status: "completed", chain: 1, endNotified: true });
  expect(rowOf(on, row.run)).toEqual(ended);
  expect(on.world.chain.executions.size).toBe(1);
});

test("schedule 46: two sweepers at once, and the second one leaves the first one's end of a run alone", async () => {
  const on = stageOfRuns();
  const agent = withTakeovers(actor({}), 1);
  const row = await start(on.world, { agent, key: "k" });
  for (let death = 0; death < 3; death += 1) await lose(on, agent, dyingAfter(on.world, "claim"));
  stop(on, row);
  due(on, row.run);
  on.clock.moveTo(Math.max(on.clock.now(), rowOf(on, row.run).effectsSettleAt));
  const frozen = frozenBefore(on.world, "commit");
  const first = sweep(frozen.world);
  await rest();
  const handed = rowOf(on, row.run);
  expect(handed).toMatchObject({ chain: 2, owner: null, status: "running" });
  await sweep(on.world);
  expect(rowOf(on, row.run)).toEqual(handed);
  frozen.thaw();
  await first;
  expect(rowOf(on, row.run)).toMatchObject({ status: "failed", chain: 2, endNotified: true });
  expect(await show(on.world, row.run)).toMatchObject({ failure: { code: "Abandoned" } });
});
