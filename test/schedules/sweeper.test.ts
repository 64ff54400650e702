/** What the sweeper finds and mends, and what it must not touch: ends, zombies, other sweepers, what it cannot read. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import { HAND_OVER } from "../../src/protocol/row-hand-over.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { show } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  createChainHarness,
  neverSettles,
  advanceUntilSettled,
  beatReply,
  rowOf,
} from "../support/harness/harness.ts";
import {
  beforeCall,
  dieInTool,
  crashAfterCall,
  freezeBeforeCall,
  endAttempt,
  startAttempt,
  loseAttempt,
  performTask,
  runUntilIdle,
  flushPromises,
  startKeyedRun,
  runAttempt,
  stopExecution,
  sweep,
  withTakeovers,
} from "../support/harness/chain-steps.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

const createSweepHarness = (): Harness => createChainHarness({ overdueMs: 1_000 });

const happened = (world: World, run: string) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

/** Nobody holds it, and it did not move for so long that it is due, whatever it waits for. */
function due(harness: Harness, run: string): void {
  const freeAt = Math.max(harness.clock.now(), rowOf(harness, run).leaseUntil ?? 0);
  harness.clock.moveTo(freeAt + TIMES.waitSecondsMax * 1_000 + harness.world.limits.overdueMs);
}

async function blocked(harness: Harness): Promise<{ readonly agent: Agent; readonly row: Row }> {
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await runUntilIdle(harness, agent);
  return { agent, row: rowOf(harness, run) };
}

/** Each leaves a run that nobody drives, and that is due; its agent. */
const LEFT_ALONE: Readonly<
  Record<string, (harness: Harness) => Promise<{ readonly agent: Agent; readonly run: string }>>
> = {
  "its sender died after the bump": async (harness) => {
    const { agent, row } = await blocked(harness);
    void happened(crashAfterCall(harness.world, "deliver"), row.run);
    await flushPromises();
    return { agent, run: row.run };
  },
  "its token is dead": async (harness) => {
    const { agent, row } = await blocked(harness);
    stopExecution(harness, row);
    expect(await happened(harness.world, row.run)).toEqual({ kind: "accepted" });
    due(harness, row.run);
    return { agent, run: row.run };
  },
  "no owner and a dead execution": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await runAttempt(harness, agent);
    stopExecution(harness, row);
    due(harness, row.run);
    return { agent, run: row.run };
  },
  "a dead owner and a dead execution": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await loseAttempt(harness, agent, crashAfterCall(harness.world, "claim"));
    stopExecution(harness, row);
    due(harness, row.run);
    return { agent, run: row.run };
  },
  "queued, and its execution was never started": async (harness) => {
    const agent = scriptedAgent({});
    void startKeyedRun(crashAfterCall(harness.world, "create"), { agent, key: "k" });
    await flushPromises();
    return { agent, run: [...harness.world.store.rows.keys()][0] ?? "" };
  },
  "queued, and its execution is closed": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    stopExecution(harness, row);
    return { agent, run: row.run };
  },
  "it has ended, and its parent is not told": async (harness) => {
    const agent = scriptedAgent({ reply: () => FINAL_REPLY });
    const row = await startKeyedRun(harness.world, {
      agent,
      key: "k",
      parent: await beginRun(harness.world, agent, {}),
    });
    // Its parent is at work elsewhere.
    startAttempt(harness);
    await loseAttempt(harness, agent, crashAfterCall(harness.world, "commit"));
    stopExecution(harness, row);
    return { agent, run: row.run };
  },
  "it was handed over, and its successor was never started": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await runAttempt(harness, agent);
    const { run, born } = row;
    const now = harness.clock.now();
    stopExecution(harness, row);
    await harness.world.table.decide({ run, born, now, chain: 1 }, HAND_OVER);
    due(harness, run);
    return { agent, run };
  },
};

test("schedule 20: an execution has ended and its run has not, in every way that can happen", async () => {
  for (const [what, scene] of Object.entries(LEFT_ALONE)) {
    const harness = createSweepHarness();
    const { agent, run } = await scene(harness);
    expect({
      what,
      attempts: await runUntilIdle(harness, agent),
      endNotified: rowOf(harness, run).endNotified,
    }).toEqual({ what, attempts: 0, endNotified: false });
    await sweep(harness.world);
    await runUntilIdle(harness, agent);
    expect({ what, status: rowOf(harness, run).status, endNotified: rowOf(harness, run).endNotified }).toEqual({
      what,
      status: "completed",
      endNotified: true,
    });
  }
});

test("schedule 31: a row of another version, or one whose snapshot cannot be read, stays unchanged", async () => {
  const harness = createSweepHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const alarms: string[] = [];
  const telemetry: World["telemetry"] = {
    record: ({ level, what }) => void (level === "alarm" ? alarms.push(what) : null),
  };
  const world = { ...harness.world, telemetry };
  const known = rowOf(harness, run);
  const newer = rewriteRow(known, { format: FORMAT + 1 });
  harness.world.store.rows.set(run, newer);
  const out = startAttempt(harness);
  expect(await beatReply(performTask(out.task, { world, agent }))).toMatchObject({ route: "wait" });
  endAttempt(harness, out, null);
  due(harness, run);
  await sweep(world);
  expect(rowOf(harness, run)).toEqual(newer);
  expect(alarms).toEqual(["Unreadable"]);
  harness.world.store.rows.set(run, known);
  // Claimed by its retry, which cannot read what it claimed.
  const blind = { ...world, objects: { ...world.objects, get: async () => null } };
  expect(await beatReply(runAttempt(harness, agent, blind))).toMatchObject({ route: "superseded" });
  const unread = rowOf(harness, run);
  for (let round = 0; round < 3; round += 1) {
    due(harness, run);
    await sweep(blind);
    expect(rowOf(harness, run)).toEqual(unread);
  }
  expect(alarms).toHaveLength(5);
  // Once it can be read again it goes on.
  await sweep(world);
  await runUntilIdle(harness, agent);
  expect(rowOf(harness, run)).toMatchObject({ status: "completed", chain: 2 });
});

test("schedule 79: one run cannot be judged, and every sweep that meets it first continues with all others", async () => {
  const harness = createSweepHarness();
  const agent = scriptedAgent({});
  // Pages begin with the newest: a row that is damaged, one whose execution cannot be described, and the others.
  const others = [
    await startKeyedRun(harness.world, { agent, key: "a" }),
    await startKeyedRun(harness.world, { agent, key: "b" }),
  ];
  const mute = await startKeyedRun(harness.world, { agent, key: "c" });
  const damaged = await startKeyedRun(harness.world, { agent, key: "d" });
  const rows = [...others, mute, damaged];
  for (const [index, row] of rows.entries()) {
    stopExecution(harness, row);
    harness.world.store.rows.set(row.run, { ...row, statusSince: row.statusSince + index });
  }
  due(harness, mute.run);
  harness.world.store.rows.set(damaged.run, {} as Row);
  const alarms: string[] = [];
  const telemetry: World["telemetry"] = {
    record: ({ level, what, run }) => void (level === "alarm" ? alarms.push(`${what} ${run}`) : null),
  };
  const begin: World["chain"]["start"] = async (name, payload) => {
    if (payload.run === mute.run) throw new StoreUnreachable("the executions cannot be described");
    return harness.world.chain.start(name, payload);
  };
  const world = { ...harness.world, telemetry, chain: { ...harness.world.chain, start: begin } };
  await sweep(world);
  expect(others.map(({ run }) => rowOf(harness, run).chain)).toEqual([2, 2]);
  expect(alarms).toEqual([`Unreadable ${damaged.run}`, `SweepFailed ${mute.run}`]);
  // Where the executions are away for more runs in a row than are passed over, the next sweep begins behind those.
  const asked: string[] = [];
  const away: World["chain"]["start"] = async (_, { run }) => {
    asked.push(run);
    throw new StoreUnreachable("the executions are away");
  };
  for (let key = 0; key < 36; key += 1)
    stopExecution(harness, await startKeyedRun(harness.world, { agent, key: `${key}` }));
  due(harness, mute.run);
  const without = { ...harness.world, chain: { ...harness.world.chain, start: away } };
  await expect(sweep(without)).rejects.toThrow("the executions are away");
  // Besides the five, those that were begun before the fifth was known to have failed.
  expect(asked).toHaveLength(20);
  await expect(sweep(without)).rejects.toThrow("the executions are away");
  expect({ asked: asked.length, different: new Set(asked).size }).toEqual({ asked: 39, different: 39 });
});

test("schedule 36: a zombie claims after a rescue has read the row, and can act when the run would be abandoned", async () => {
  const harness = createChainHarness({ rescueMs: 100, entryAttemptsMax: 5 });
  const acts: string[] = [];
  const promises: (() => void)[] = [];
  const run = (): Promise<never> => {
    promises.push(() => acts.push(rowOf(harness, payload.run).status));
    return neverSettles();
  };
  const agent = withTakeovers(scriptedAgent({ effect: "unsafe", run, timeoutMs: 400 }), 1);
  const payload = await beginRun(harness.world, agent, {});
  for (let death = 0; death < 5; death += 1) endAttempt(harness, startAttempt(harness), null);
  await runAttempt(harness, agent);
  expect(rowOf(harness, payload.run)).toMatchObject({ chain: 2, takeovers: 0 });
  for (let death = 0; death < 4; death += 1) endAttempt(harness, startAttempt(harness), null);
  const last = startAttempt(harness);
  const frozen = freezeBeforeCall(harness.world, "claim");
  const zombie = performTask(last.task, { world: frozen.world, agent });
  endAttempt(harness, last, null);
  // It claims, its call outlives its timeout, and it releases: all that before the hand-over.
  const world = beforeCall(harness.world, "handOver", async () => {
    frozen.thaw();
    expect(await advanceUntilSettled(harness, zombie)).toMatchObject({ kind: "exit" });
    harness.world.store.rows.set(payload.run, { ...rowOf(harness, payload.run), deaths: 2 });
  });
  const rescue = startAttempt(harness);
  endAttempt(harness, rescue, await performTask(rescue.task, { world, agent }));
  const { effectsSettleAt, chain } = rowOf(harness, payload.run);
  expect(chain).toBe(3);
  harness.clock.moveTo(effectsSettleAt - 1);
  for (const act of promises) act();
  await runUntilIdle(harness, agent);
  expect(acts).toEqual(["blocked"]);
  expect(rowOf(harness, payload.run)).toMatchObject({ status: "failed", endNotified: true });
  expect(await show(harness.world, payload.run)).toMatchObject({ failure: { code: "CrashLoop" } });
});

test("schedule 40: a sweeper decides to hand over, and a zombie commits the end before it does", async () => {
  const harness = createSweepHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const row = await startKeyedRun(harness.world, { agent, key: "k" });
  const out = startAttempt(harness);
  const frozen = freezeBeforeCall(harness.world, "commit");
  const zombie = performTask(out.task, { world: frozen.world, agent });
  await flushPromises();
  endAttempt(harness, out, null);
  stopExecution(harness, row);
  due(harness, row.run);
  let ended: Row | null = null;
  const world = beforeCall(harness.world, "handOver", async () => {
    frozen.thaw();
    await zombie;
    ended = rowOf(harness, row.run);
  });
  await sweep(world);
  expect(ended).toMatchObject({ status: "completed", chain: 1, endNotified: true });
  expect(rowOf(harness, row.run)).toEqual(ended);
  expect(harness.world.chain.executions.size).toBe(1);
});

test("schedule 46: two sweepers run at once, and the second one leaves a run alone that the first one ends", async () => {
  const harness = createSweepHarness();
  const agent = withTakeovers(scriptedAgent({}), 1);
  const row = await startKeyedRun(harness.world, { agent, key: "k" });
  for (let death = 0; death < 3; death += 1) await loseAttempt(harness, agent, crashAfterCall(harness.world, "claim"));
  stopExecution(harness, row);
  due(harness, row.run);
  harness.clock.moveTo(Math.max(harness.clock.now(), rowOf(harness, row.run).effectsSettleAt));
  const frozen = freezeBeforeCall(harness.world, "commit");
  const first = sweep(frozen.world);
  await flushPromises();
  const handed = rowOf(harness, row.run);
  expect(handed).toMatchObject({ chain: 2, owner: null, status: "running" });
  await sweep(harness.world);
  expect(rowOf(harness, row.run)).toEqual(handed);
  frozen.thaw();
  await first;
  expect(rowOf(harness, row.run)).toMatchObject({ status: "failed", chain: 2, endNotified: true });
  expect(await show(harness.world, row.run)).toMatchObject({ failure: { code: "Abandoned" } });
});
