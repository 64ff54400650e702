/** A wall clock that is set: what is decided by it meanwhile, and what is left once it is right again. */
import { expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { segmentKey } from "../../src/history/object-keys.ts";
import { collectOrphans } from "../../src/maintenance/orphans.ts";
import { show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { asked, gatesOf } from "../support/asking.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { DAY_MS, HOUR_MS, machineOn } from "../support/set-clock.ts";
import { OVER, type Stage, actor, replyOf, rowOf, stage } from "../support/stage.ts";
import { sweep } from "../support/supervise.ts";

const ORPHAN = segmentKey({ run: `local-${"z".repeat(26)}`, born: "bbbbbbbbbb" }, "x");
const talker = actor({ reply: () => OVER });

const startUnder = (world: World, idempotencyKey: string) =>
  startRun(world, { agent: talker, input: {}, tenant: "local", idempotencyKey });

/** A run that has ended, under the key `k`. */
async function ended(world: World): Promise<string> {
  const started = await startUnder(world, "k");
  if (started.kind !== "started") throw new Error(`not started: ${started.kind}`);
  const { run, born } = started.row;
  expect(await drive(runnerOf(world, talker), { run, born, chain: 1, epoch: 0, agent: talker.name })).toMatchObject({
    route: "done",
  });
  return run;
}

/** What can be lost: a gate that waits for a person, a run that is paused, one that has ended, an object without a row. */
async function precious(on: Stage, world: World) {
  const gated = await asked({ ...on, world: { ...on.world, clock: world.clock } });
  const idler = actor({});
  const paused = await begin(world, idler, {});
  await sendRequest(world, { run: paused.run, want: "pause" });
  const parked = await replyOf(attempt(runnerOf(world, idler), paused));
  expect(parked.route).toBe("park");
  const gone = await ended(world);
  await on.world.objects.put(ORPHAN, new Uint8Array(1));
  return { gated, idler, parked, gone };
}

type Precious = Awaited<ReturnType<typeof precious>>;

/** Everything that may decide what cannot be taken back has its turn. */
async function judgeAll(on: Stage, world: World, { gated, idler, parked }: Precious) {
  const here = { ...on, world: { ...on.world, clock: world.clock } };
  const gate = await replyOf(attempt(runnerOf(world, gated.agent), gated.payload));
  const idle = await replyOf(attempt(runnerOf(world, idler), parked));
  await sweep(here);
  expect(await collectOrphans(world, null)).toBeNull();
  return { gate, idle, again: (await startUnder(world, "k")).kind };
}

const hasOrphan = ({ world }: Stage): boolean => world.store.objects.has(ORPHAN);

async function expectAllKept(on: Stage, { gated, parked, gone }: Precious): Promise<void> {
  expect(await gatesOf(on.world, gated.run)).toMatchObject([{ decision: null }]);
  expect(rowOf(on, gated.run)).toMatchObject({ status: "waiting" });
  expect(rowOf(on, parked.run)).toMatchObject({ status: "paused" });
  expect(await show(on.world, gone)).toMatchObject({ status: "completed" });
  expect(hasOrphan(on)).toBe(true);
}

test("schedule 104: the clock is put 40 days ahead and comes back: nothing has expired, and nothing is started again", async () => {
  const on = stage();
  const machine = machineOn(on);
  const { world, clock } = machine.process();
  const all = await precious(on, world);
  machine.pass(HOUR_MS);
  machine.aheadMs = 40 * DAY_MS;
  machine.follow();
  expect(clock.doubt()).toMatchObject({ kind: "ahead", byMs: 40 * DAY_MS });
  const { gate, idle, again } = await judgeAll(on, world, all);
  expect([gate.route, idle.route, again]).toEqual(["park", "park", "exists"]);
  await expectAllKept(on, all);
  machine.pass(60_000);
  machine.aheadMs = 0;
  machine.follow();
  expect(clock.doubt()).toBeNull();
  await expectAllKept(on, all);
  // What is over in truth still ends.
  machine.pass(DAY_MS);
  await attempt(runnerOf(world, all.gated.agent), gate);
  expect(rowOf(on, all.gated.run)).toMatchObject({ status: "completed" });
});

test("schedule 105: a run that ends while the clock is two days back is kept for its whole time", async () => {
  const on = stage();
  const machine = machineOn(on);
  const { world, clock } = machine.process();
  machine.aheadMs = -2 * DAY_MS;
  machine.follow();
  expect(clock.doubt()).toMatchObject({ kind: "behind", byMs: 2 * DAY_MS });
  const run = await ended(world);
  machine.pass(60_000);
  machine.aheadMs = 0;
  machine.follow();
  expect((await startUnder(world, "k")).kind).toBe("exists");
  machine.pass(22 * HOUR_MS);
  expect(await show(world, run)).toMatchObject({ status: "completed" });
  // One that keeps its new time was right: it is believed after an hour, and not before.
  machine.aheadMs = DAY_MS;
  machine.follow();
  machine.pass(59 * 60_000);
  expect(await show(world, run)).toMatchObject({ status: "completed" });
  machine.pass(2 * 60_000);
  expect(clock.doubt()).toBeNull();
  expect(await show(world, run)).toBeNull();
});

test("schedule 106: a machine comes back and its clock says that 40 days have passed: nothing is over before an hour", async () => {
  const on = stage();
  const machine = machineOn(on);
  const all = await precious(on, machine.process().world);
  machine.restart(40 * DAY_MS);
  machine.follow();
  const { world, clock } = machine.process();
  expect(clock.doubt()).toMatchObject({ kind: "away" });
  // What is new is written by the wall clock.
  expect(clock.now()).toBe(on.clock.now());
  const { gate, idle, again } = await judgeAll(on, world, all);
  // It looks again soon, and does not wait for another month.
  expect([gate, idle]).toMatchObject([
    { route: "park", seconds: 600 },
    { route: "park", seconds: 600 },
  ]);
  expect(again).toBe("exists");
  expect(hasOrphan(on)).toBe(true);
  expect(rowOf(on, all.gated.run)).toMatchObject({ status: "waiting" });
  expect(rowOf(on, all.parked.run)).toMatchObject({ status: "paused" });
  machine.pass(HOUR_MS / 2);
  await sweep(on, world);
  expect(rowOf(on, all.parked.run)).toMatchObject({ status: "paused" });
  machine.pass(HOUR_MS);
  expect(clock.doubt()).toBeNull();
  await attempt(runnerOf(world, all.gated.agent), gate);
  await attempt(runnerOf(world, all.idler), idle);
  expect(rowOf(on, all.gated.run)).toMatchObject({ status: "completed" });
  expect(rowOf(on, all.parked.run)).toMatchObject({ status: "failed" });
});

test("schedule 107: a worker that begins after the jump goes by the time that the supervisor believes", async () => {
  const on = stage();
  const machine = machineOn(on);
  const all = await precious(on, machine.process().world);
  machine.aheadMs = 40 * DAY_MS;
  const { world, clock } = machine.process();
  expect(clock.now()).toBe(on.clock.now());
  const { gate, idle, again } = await judgeAll(on, world, all);
  expect([gate.route, idle.route, again]).toEqual(["park", "park", "exists"]);
  await expectAllKept(on, all);
});
