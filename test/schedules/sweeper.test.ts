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
  beatReply,
  flushPromises,
} from "../support/harness/harness.ts";
import {
  beforeCall,
  dieInTool,
  crashAfterCall,
  freezeBeforeCall,
  startKeyedRun,
  sweep,
  withTakeovers,
} from "../support/harness/chain-steps.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

const createSweepHarness = (): Harness => createChainHarness({ overdueMs: 1_000 });

const happened = (world: World, run: string) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

/** Nobody holds it, and it did not move for so long that it is due, whatever it waits for. */
function due(harness: Harness, run: string): void {
  const freeAt = Math.max(harness.clock.now(), harness.row(run).leaseUntil ?? 0);
  harness.clock.moveTo(freeAt + TIMES.waitSecondsMax * 1_000 + harness.world.limits.overdueMs);
}

async function blocked(harness: Harness): Promise<{ readonly agent: Agent; readonly row: Row }> {
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  return { agent, row: harness.row(run) };
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
    harness.stopExecution(row);
    expect(await happened(harness.world, row.run)).toEqual({ kind: "accepted" });
    due(harness, row.run);
    return { agent, run: row.run };
  },
  "no owner and a dead execution": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await harness.runAttempt(agent);
    harness.stopExecution(row);
    due(harness, row.run);
    return { agent, run: row.run };
  },
  "a dead owner and a dead execution": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
    harness.stopExecution(row);
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
    harness.stopExecution(row);
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
    harness.startAttempt();
    await harness.loseAttempt(agent, crashAfterCall(harness.world, "commit"));
    harness.stopExecution(row);
    return { agent, run: row.run };
  },
  "it was handed over, and its successor was never started": async (harness) => {
    const agent = scriptedAgent({});
    const row = await startKeyedRun(harness.world, { agent, key: "k" });
    await harness.runAttempt(agent);
    const { run, born } = row;
    const now = harness.clock.now();
    harness.stopExecution(row);
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
      attempts: await harness.runUntilIdle(agent),
      endNotified: harness.row(run).endNotified,
    }).toEqual({ what, attempts: 0, endNotified: false });
    await sweep(harness.world);
    await harness.runUntilIdle(agent);
    expect({ what, status: harness.row(run).status, endNotified: harness.row(run).endNotified }).toEqual({
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
  const known = harness.row(run);
  const newer = rewriteRow(known, { format: FORMAT + 1 });
  harness.world.store.rows.set(run, newer);
  const out = harness.startAttempt();
  expect(await beatReply(out.perform({ world, agent }))).toMatchObject({ route: "wait" });
  out.end(null);
  due(harness, run);
  await sweep(world);
  expect(harness.row(run)).toEqual(newer);
  expect(alarms).toEqual(["Unreadable"]);
  harness.world.store.rows.set(run, known);
  // Claimed by its retry, which cannot read what it claimed.
  const blind = { ...world, objects: { ...world.objects, get: async () => null } };
  expect(await beatReply(harness.runAttempt(agent, blind))).toMatchObject({ route: "superseded" });
  const unread = harness.row(run);
  for (let round = 0; round < 3; round += 1) {
    due(harness, run);
    await sweep(blind);
    expect(harness.row(run)).toEqual(unread);
  }
  expect(alarms).toHaveLength(5);
  // Once it can be read again it goes on.
  await sweep(world);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", chain: 2 });
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
    harness.stopExecution(row);
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
  expect(others.map(({ run }) => harness.row(run).chain)).toEqual([2, 2]);
  expect(alarms).toEqual([`Unreadable ${damaged.run}`, `SweepFailed ${mute.run}`]);
  // Where the executions are away for more runs in a row than are passed over, the next sweep begins behind those.
  const asked: string[] = [];
  const away: World["chain"]["start"] = async (_, { run }) => {
    asked.push(run);
    throw new StoreUnreachable("the executions are away");
  };
  for (let key = 0; key < 36; key += 1)
    harness.stopExecution(await startKeyedRun(harness.world, { agent, key: `${key}` }));
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
    promises.push(() => acts.push(harness.row(payload.run).status));
    return neverSettles();
  };
  const agent = withTakeovers(scriptedAgent({ effect: "unsafe", run, timeoutMs: 400 }), 1);
  const payload = await beginRun(harness.world, agent, {});
  for (let death = 0; death < 5; death += 1) harness.startAttempt().end(null);
  await harness.runAttempt(agent);
  expect(harness.row(payload.run)).toMatchObject({ chain: 2, takeovers: 0 });
  for (let death = 0; death < 4; death += 1) harness.startAttempt().end(null);
  const last = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "claim");
  const zombie = last.perform({ world: frozen.world, agent });
  last.end(null);
  // It claims, its call outlives its timeout, and it releases: all that before the hand-over.
  const world = beforeCall(harness.world, "handOver", async () => {
    frozen.thaw();
    expect(await harness.advanceUntilSettled(zombie)).toMatchObject({ kind: "exit" });
    harness.world.store.rows.set(payload.run, { ...harness.row(payload.run), deaths: 2 });
  });
  const rescue = harness.startAttempt();
  rescue.end(await rescue.perform({ world, agent }));
  const { effectsSettleAt, chain } = harness.row(payload.run);
  expect(chain).toBe(3);
  harness.clock.moveTo(effectsSettleAt - 1);
  for (const act of promises) act();
  await harness.runUntilIdle(agent);
  expect(acts).toEqual(["blocked"]);
  expect(harness.row(payload.run)).toMatchObject({ status: "failed", endNotified: true });
  expect(await show(harness.world, payload.run)).toMatchObject({ failure: { code: "CrashLoop" } });
});

test("schedule 40: a sweeper decides to hand over, and a zombie commits the end before it does", async () => {
  const harness = createSweepHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const row = await startKeyedRun(harness.world, { agent, key: "k" });
  const out = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "commit");
  const zombie = out.perform({ world: frozen.world, agent });
  await flushPromises();
  out.end(null);
  harness.stopExecution(row);
  due(harness, row.run);
  let ended: Row | null = null;
  const world = beforeCall(harness.world, "handOver", async () => {
    frozen.thaw();
    await zombie;
    ended = harness.row(row.run);
  });
  await sweep(world);
  expect(ended).toMatchObject({ status: "completed", chain: 1, endNotified: true });
  expect(harness.row(row.run)).toEqual(ended);
  expect(harness.world.chain.executions.size).toBe(1);
});

test("schedule 46: two sweepers run at once, and the second one leaves a run alone that the first one ends", async () => {
  const harness = createSweepHarness();
  const agent = withTakeovers(scriptedAgent({}), 1);
  const row = await startKeyedRun(harness.world, { agent, key: "k" });
  for (let death = 0; death < 3; death += 1) await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
  harness.stopExecution(row);
  due(harness, row.run);
  harness.clock.moveTo(Math.max(harness.clock.now(), harness.row(row.run).effectsSettleAt));
  const frozen = freezeBeforeCall(harness.world, "commit");
  const first = sweep(frozen.world);
  await flushPromises();
  const handed = harness.row(row.run);
  expect(handed).toMatchObject({ chain: 2, owner: null, status: "running" });
  await sweep(harness.world);
  expect(harness.row(row.run)).toEqual(handed);
  frozen.thaw();
  await first;
  expect(harness.row(row.run)).toMatchObject({ status: "failed", chain: 2, endNotified: true });
  expect(await show(harness.world, row.run)).toMatchObject({ failure: { code: "Abandoned" } });
});
