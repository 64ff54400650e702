/** Runs that the sweeper leaves alone: those that are held, need no action, or are unreadable. */
import { describe, expect, test } from "vitest";
import { encodeJournal } from "../../src/codec/snapshot.ts";
import { FORMAT, type Row } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { attempt, begin, runnerOf } from "../support/drive.ts";
import { OVERDUE_MS, type Room, UNPARKED_MS, change, close, nameOf } from "../support/supervise.ts";
import { room, supervise, sweep, wait } from "../support/supervise.ts";
import { actor, dieInTool, reachTool, rowOf } from "../support/stage.ts";
import { asking } from "../support/asking.ts";
import { completed, startedEvent } from "../support/build.ts";

/** All writes of a sweep except those to its own mutex lease. */
async function deeds(on: Room): Promise<readonly string[]> {
  const done: string[] = [];
  const { table, chain } = on.world;
  const noted = <T extends object>(port: T): T =>
    new Proxy(port, {
      get: (target, name) => {
        const call = Reflect.get(target, name) as (...of: unknown[]) => unknown;
        return (...of: unknown[]): unknown => {
          if (!/^(read|alive|takeTurn)$/.test(String(name))) done.push(String(name));
          return Reflect.apply(call, target, of);
        };
      },
    });
  const world: World = { ...on.world, table: noted(table), chain: noted(chain) };
  await sweep(on, world);
  return done;
}

describe("the sweeper does nothing to a run", () => {
  test("whose owner works within its lease", async () => {
    const on = room();
    const agent = actor({});
    const payload = await begin(on.world, agent, {});
    await reachTool(on.world, { payload, agent });
    const row = rowOf(on, payload.run);
    // Long after its last commit: the lease decides, not the last commit.
    change(on, row, { lastCheckpointAt: row.lastCheckpointAt - OVERDUE_MS });
    on.clock.moveTo((row.leaseUntil ?? 0) - 1);
    expect(await deeds(on)).toEqual([]);
  });

  test("that is parked without new messages", async () => {
    const on = room();
    const agent = actor({});
    const { run, born } = await begin(on.world, agent, {});
    await on.world.table.request({ run, born, now: on.clock.now(), want: "pause" });
    const row = await supervise(on, { agent, run, until: ({ park }) => park !== null });
    on.clock.moveTo((row.wakeAt ?? 0) - 1);
    expect(await deeds(on)).toEqual([]);
    expect(rowOf(on, run)).toEqual(row);
    // The same moment again, but after its wake-up time.
    wait(on, 1);
    expect(await deeds(on)).toEqual(["wake"]);
  });

  test("that waits at a gate with a dead token, until the gate expires", async () => {
    const on = room();
    const agent = asking();
    const { run } = await begin(on.world, agent, {});
    const row = await supervise(on, { agent, run, until: ({ park }) => park !== null });
    close(on, row);
    on.clock.moveTo((row.wakeAt ?? 0) - 1);
    expect(await deeds(on)).toEqual([]);
    wait(on, 1);
    expect(await deeds(on)).toEqual(["wake", "start", "handOver", "start"]);
    expect(rowOf(on, run)).toMatchObject({ chain: 2, takeovers: 0 });
  });

  test("that released its lease recently", async () => {
    const on = room();
    const agent = actor({});
    const payload = await begin(on.world, agent, {});
    await attempt(runnerOf(on.world, agent), payload);
    const { lastCheckpointAt } = rowOf(on, payload.run);
    on.clock.moveTo(lastCheckpointAt + OVERDUE_MS - 1);
    expect(await deeds(on)).toEqual([]);
    wait(on, 1);
    // Its execution is alive, so the sweep changed nothing.
    expect(await deeds(on)).toEqual(["start"]);
    expect(rowOf(on, payload.run)).toMatchObject({ chain: 1, takeovers: 0 });
  });

  test("that waits for a time, until it is overdue", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    const wakeAt = on.clock.now() + 30_000;
    change(on, payload, { status: "running", wakeAt });
    on.clock.moveTo(wakeAt + OVERDUE_MS - 1);
    expect(await deeds(on)).toEqual([]);
    wait(on, 1);
    expect(await deeds(on)).toEqual(["start"]);
  });

  test("that waits for long without a token, up to the longest wait without one", async () => {
    const on = room();
    const payload = await begin(on.world, actor({}), {});
    change(on, payload, { status: "paused", wakeAt: on.clock.now() + 30 * 24 * 3_600_000 });
    wait(on, UNPARKED_MS - 1);
    expect(await deeds(on)).toEqual([]);
    wait(on, 1);
    expect(await deeds(on)).toEqual(["start"]);
  });
});

describe("an unreadable run is left unchanged, with an alarm", () => {
  /** Its beats die before they can read it, and its execution has ended. */
  async function unreadable(to: (row: Row) => Partial<Row>) {
    const on = room();
    const agent = actor({});
    const payload = await begin(on.world, agent, {});
    await dieInTool(on, { payload, agent });
    close(on, payload);
    const row = rowOf(on, payload.run);
    change(on, row, { ...to(row), takeovers: 99 });
    on.clock.moveTo(row.deadline);
    const before = rowOf(on, payload.run);
    const done = await deeds(on);
    expect(rowOf(on, payload.run)).toEqual(before);
    return { done, alarms: on.alarms };
  }

  test.each<readonly [string, (row: Row) => Partial<Row>, string]>([
    ["its row has a newer format", () => ({ format: FORMAT + 1 }), "it has format 2"],
    ["its snapshot is missing", ({ snapshot }) => ({ snapshot: { ...snapshot, key: "gone" } }), "SnapshotMissing"],
    ["its snapshot has other bytes", ({ snapshot }) => ({ snapshot: { ...snapshot, digest: "0" } }), "DigestMismatch"],
    ["its journal is no journal", () => ({ journal: Uint8Array.of(1, 2, 3) }), "cannot be decompressed"],
    [
      "its journal does not follow its snapshot",
      () => ({ journal: encodeJournal([{ version: 1, epoch: 1, events: [startedEvent, completed] }]) }),
      "does not follow",
    ],
  ])("%s", async (_, to, why) => {
    const { done, alarms } = await unreadable(to);
    expect(done).toEqual([]);
    expect(alarms).toMatchObject([{ what: "Unreadable", detail: { why: expect.stringContaining(why) } }]);
  });

  test("also a run that was never claimed: the sweeper does not start it again and again", async () => {
    const on = room();
    const { run } = await begin(on.world, actor({}), {});
    close(on, rowOf(on, run));
    change(on, { run }, { snapshot: { ...rowOf(on, run).snapshot, key: "gone" } });
    wait(on);
    expect(await deeds(on)).toEqual([]);
    expect(on.alarms).toMatchObject([{ what: "Unreadable", run }]);
  });
});

test("a failing run does not stop the sweep of other runs", async () => {
  const on = room();
  const runs = [];
  for (const _ of "abc") {
    const payload = await begin(on.world, actor({}), {});
    close(on, payload);
    runs.push(payload.run);
    wait(on, 1);
  }
  wait(on);
  const [, poison = ""] = runs;
  const start: World["chain"]["start"] = (name, payload) => {
    if (payload.run === poison) throw new TypeError("a mistake of ours");
    return on.world.chain.start(name, payload);
  };
  await sweep(on, { ...on.world, chain: { ...on.world.chain, start } });
  expect(runs.map((run) => rowOf(on, run).chain)).toEqual([2, 1, 2]);
  expect(on.alarms).toMatchObject([{ what: "SweepFailed", run: poison, detail: { why: "a mistake of ours" } }]);
  expect(on.world.chain.executions.get(nameOf({ ...rowOf(on, poison), chain: 2 }))).toBe(undefined);
});

test("a sweep reports that clocks differ, because data that has expired by only one of them is kept", async () => {
  const on = room();
  await sweep(on);
  expect(on.alarms).toEqual([]);
  const clock = { ...on.clock, earliest: () => on.clock.now() - 90_000 };
  await sweep(on, { ...on.world, clock });
  expect(on.alarms).toMatchObject([
    { what: "ClockDoubted", run: "", detail: { why: expect.stringMatching(/^two clocks differ by 90 s: /) } },
  ]);
});
