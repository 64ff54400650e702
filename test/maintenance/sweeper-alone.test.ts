/** Runs that the sweeper leaves alone: those that are held, need no action, or are unreadable. */
import { describe, expect, test } from "vitest";
import { encodeJournal } from "../../src/codec/journal.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { attemptBeat, beginRun, runnerOf } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  dieInTool,
  reachTool,
  MS,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";
import { nameOfCall } from "../support/harness/ports.ts";
import { approvalAgent } from "../support/agents/approval-agent.ts";
import { EVENT } from "../support/states/states-and-events.ts";

/** All writes of a sweep except those to its own mutex lease. */
async function sweeperActions(harness: Harness): Promise<readonly string[]> {
  const done: string[] = [];
  const { table, inbox, leases, chain } = harness.world;
  const noted = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const call = Reflect.get(target, name) as (...of: unknown[]) => unknown;
        return (...of: unknown[]): unknown => {
          if (!/^(read|alive|take|cursorOf)$/.test(String(name))) done.push(nameOfCall(name, of));
          return Reflect.apply(call, target, of);
        };
      },
    });
  const world: World = {
    ...harness.world,
    table: noted(table),
    inbox: noted(inbox),
    leases: noted(leases),
    chain: noted(chain),
  };
  await harness.sweep(world);
  return done;
}

describe("the sweeper does nothing to a run", () => {
  test("whose owner works within its lease", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({});
    const payload = await beginRun(harness.world, agent, {});
    await reachTool(harness.world, { payload, agent });
    const row = harness.row(payload.run);
    // Long after its last commit: the lease decides, not the last commit.
    harness.changeRow(row, { lastCheckpointAt: row.lastCheckpointAt - MS.overdue });
    harness.clock.moveTo((row.leaseUntil ?? 0) - 1);
    expect(await sweeperActions(harness)).toEqual([]);
  });

  test("that is parked without new messages", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({});
    const { run, born } = await beginRun(harness.world, agent, {});
    await harness.world.table.request({ run, born, now: harness.clock.now(), want: "pause" });
    const row = await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
    harness.clock.moveTo((row.wakeAt ?? 0) - 1);
    expect(await sweeperActions(harness)).toEqual([]);
    expect(harness.row(run)).toEqual(row);
    // The same moment again, but after its wake-up time.
    harness.passTime(1);
    expect(await sweeperActions(harness)).toEqual(["wake"]);
  });

  test("that waits at a gate with a dead token, until the gate expires", async () => {
    const harness = createSupervisedHarness();
    const agent = approvalAgent();
    const { run } = await beginRun(harness.world, agent, {});
    const row = await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
    harness.stopExecution(row);
    harness.clock.moveTo((row.wakeAt ?? 0) - 1);
    expect(await sweeperActions(harness)).toEqual([]);
    harness.passTime(1);
    expect(await sweeperActions(harness)).toEqual(["wake", "start", "handOver", "start"]);
    expect(harness.row(run)).toMatchObject({ chain: 2, takeovers: 0 });
  });

  test("that released its lease recently", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({});
    const payload = await beginRun(harness.world, agent, {});
    await attemptBeat(runnerOf(harness.world, agent), payload);
    const { lastCheckpointAt } = harness.row(payload.run);
    harness.clock.moveTo(lastCheckpointAt + MS.overdue - 1);
    expect(await sweeperActions(harness)).toEqual([]);
    harness.passTime(1);
    // Its execution is alive, so the sweep changed nothing.
    expect(await sweeperActions(harness)).toEqual(["start"]);
    expect(harness.row(payload.run)).toMatchObject({ chain: 1, takeovers: 0 });
  });

  test("that waits for a time, until it is overdue", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    const wakeAt = harness.clock.now() + 30_000;
    harness.changeRow(payload, { status: "running", wakeAt });
    harness.clock.moveTo(wakeAt + MS.overdue - 1);
    expect(await sweeperActions(harness)).toEqual([]);
    harness.passTime(1);
    expect(await sweeperActions(harness)).toEqual(["start"]);
  });

  test("that waits for long without a token, up to the longest wait without one", async () => {
    const harness = createSupervisedHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    harness.changeRow(payload, { status: "paused", wakeAt: harness.clock.now() + 30 * 24 * 3_600_000 });
    harness.passTime(MS.unparked - 1);
    expect(await sweeperActions(harness)).toEqual([]);
    harness.passTime(1);
    expect(await sweeperActions(harness)).toEqual(["start"]);
  });
});

describe("an unreadable run is left unchanged, with an alarm", () => {
  /** Its beats die before they can read it, and its execution has ended. */
  async function unreadable(to: (row: Row) => Partial<Row>) {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({});
    const payload = await beginRun(harness.world, agent, {});
    await dieInTool(harness, { payload, agent });
    harness.stopExecution(payload);
    const row = harness.row(payload.run);
    harness.changeRow(row, { ...to(row), takeovers: 99 });
    harness.clock.moveTo(row.deadline);
    const before = harness.row(payload.run);
    const done = await sweeperActions(harness);
    expect(harness.row(payload.run)).toEqual(before);
    return { done, alarms: harness.alarms };
  }

  test.each<readonly [string, (row: Row) => Partial<Row>, string]>([
    ["its row has a newer format", () => ({ format: FORMAT + 1 }), "it has format 3"],
    ["its snapshot is missing", ({ snapshot }) => ({ snapshot: { ...snapshot, key: "gone" } }), "SnapshotMissing"],
    ["its snapshot has other bytes", ({ snapshot }) => ({ snapshot: { ...snapshot, digest: "0" } }), "DigestMismatch"],
    ["its journal is no journal", () => ({ journal: Uint8Array.of(1, 2, 3) }), "cannot be decompressed"],
    [
      "its journal does not follow its snapshot",
      () => ({ journal: encodeJournal([{ version: 1, epoch: 1, events: [EVENT.started, EVENT.completed] }]) }),
      "does not follow",
    ],
  ])("%s", async (_, to, why) => {
    const { done, alarms } = await unreadable(to);
    expect(done).toEqual([]);
    expect(alarms).toMatchObject([{ what: "Unreadable", detail: { why: expect.stringContaining(why) } }]);
  });

  test("also a run that was never claimed: the sweeper does not start it again and again", async () => {
    const harness = createSupervisedHarness();
    const { run } = await beginRun(harness.world, scriptedAgent({}), {});
    harness.stopExecution(harness.row(run));
    harness.changeRow({ run }, { snapshot: { ...harness.row(run).snapshot, key: "gone" } });
    harness.passTime();
    expect(await sweeperActions(harness)).toEqual([]);
    expect(harness.alarms).toMatchObject([{ what: "Unreadable", run }]);
  });
});

test("a failing run does not stop the sweep of other runs", async () => {
  const harness = createSupervisedHarness();
  const runs = [];
  for (const _ of "abc") {
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    harness.stopExecution(payload);
    runs.push(payload.run);
    harness.passTime(1);
  }
  harness.passTime();
  const [, poison = ""] = runs;
  const start: World["chain"]["start"] = (name, payload) => {
    if (payload.run === poison) throw new TypeError("a mistake of ours");
    return harness.world.chain.start(name, payload);
  };
  await harness.sweep({ ...harness.world, chain: { ...harness.world.chain, start } });
  expect(runs.map((run) => harness.row(run).chain)).toEqual([2, 1, 2]);
  expect(harness.alarms).toMatchObject([{ what: "SweepFailed", run: poison, detail: { why: "a mistake of ours" } }]);
  expect(harness.world.chain.executions.get(executionNameOf({ ...harness.row(poison), chain: 2 }))).toBe(undefined);
});

test("a sweep reports no difference of the clocks where time passes between its two reads", async () => {
  const harness = createSupervisedHarness();
  let readAt = harness.clock.now();
  const tick = (): number => (readAt += 1);
  await harness.sweep({ ...harness.world, clock: { ...harness.clock, now: tick, earliest: tick } });
  expect(harness.alarms).toEqual([]);
});

test.each([
  [90_000, "90 s"],
  [120, "120 ms"],
])(
  "a sweep reports that clocks differ by %i ms, because data that has expired by only one of them is kept",
  async (gapMs, gap) => {
    const harness = createSupervisedHarness();
    await harness.sweep();
    expect(harness.alarms).toEqual([]);
    const clock = { ...harness.clock, earliest: () => harness.clock.now() - gapMs };
    await harness.sweep({ ...harness.world, clock });
    expect(harness.alarms).toMatchObject([
      { what: "ClockDoubted", run: "", detail: { why: expect.stringContaining(`two clocks differ by ${gap}: `) } },
    ]);
  },
);
