/** A wall clock that is set: what is decided by it meanwhile, and what is left once it is right again. */
import { expect, test } from "vitest";
import { clockBesideAws } from "../../src/adapters/aws/clock.ts";
import type { World } from "../../src/ports/world.ts";
import { segmentKey } from "../../src/history/object-keys.ts";
import { collectOrphans } from "../../src/maintenance/orphans.ts";
import { show } from "../../src/operations/views.ts";
import { startRun } from "../../src/operations/start.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { runUntilGate, gatesOf } from "../support/agents/approval-agent.ts";
import { LIMIT_MS, callsOnce, waitingAgent, waitsOf } from "../support/agents/waiting-agent.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { createClockedMachine } from "../support/harness/clocked-machine.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  beatReply,
  createChainHarness,
  createHarness,
  MS,
} from "../support/harness/harness.ts";

const ORPHAN = segmentKey({ run: `local-${"z".repeat(26)}`, born: "bbbbbbbbbb" }, "x");
const talker = scriptedAgent({ reply: () => FINAL_REPLY });

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
async function keptRun(harness: Harness, world: World) {
  const gated = await runUntilGate({ ...harness, world: { ...harness.world, clock: world.clock } });
  const idler = scriptedAgent({});
  const paused = await beginRun(world, idler, {});
  await sendRequest(world, { run: paused.run, want: "pause" });
  const parked = await beatReply(attemptBeat(runnerOf(world, idler), paused));
  expect(parked.route).toBe("park");
  const gone = await ended(world);
  await harness.world.objects.put(ORPHAN, new Uint8Array(1));
  return { gated, idler, parked, gone };
}

type KeptRun = Awaited<ReturnType<typeof keptRun>>;

/** Everything that may decide what cannot be taken back has its turn. */
async function judgeAll(harness: Harness, world: World, { gated, idler, parked }: KeptRun) {
  const here = { ...harness, world: { ...harness.world, clock: world.clock } };
  const gate = await beatReply(attemptBeat(runnerOf(world, gated.agent), gated.payload));
  const idle = await beatReply(attemptBeat(runnerOf(world, idler), parked));
  await here.sweep();
  expect(await collectOrphans(world, null)).toBeNull();
  return { gate, idle, again: (await startUnder(world, "k")).kind };
}

const hasOrphan = ({ world }: Harness): boolean => world.store.objects.has(ORPHAN);

async function expectAllKept(harness: Harness, { gated, parked, gone }: KeptRun): Promise<void> {
  expect(await gatesOf(harness.world, gated.run)).toMatchObject([{ decision: null }]);
  expect(harness.row(gated.run)).toMatchObject({ status: "waiting" });
  expect(harness.row(parked.run)).toMatchObject({ status: "paused" });
  expect(await show(harness.world, gone)).toMatchObject({ status: "completed" });
  expect(hasOrphan(harness)).toBe(true);
}

test("schedule 104: the clock is set 40 days ahead and back: nothing has expired, and nothing is started again", async () => {
  const harness = createHarness();
  const machine = createClockedMachine(harness);
  const { world, clock } = machine.process();
  const all = await keptRun(harness, world);
  machine.pass(MS.hour);
  machine.aheadMs = 40 * MS.day;
  machine.follow();
  expect(clock.doubt()).toMatchObject({ kind: "ahead", byMs: 40 * MS.day });
  const { gate, idle, again } = await judgeAll(harness, world, all);
  expect({ gate: gate.route, idle: idle.route, again }).toEqual({ gate: "park", idle: "park", again: "exists" });
  await expectAllKept(harness, all);
  machine.pass(60_000);
  machine.aheadMs = 0;
  machine.follow();
  expect(clock.doubt()).toBeNull();
  await expectAllKept(harness, all);
  // What is over in truth still ends.
  machine.pass(MS.day);
  await attemptBeat(runnerOf(world, all.gated.agent), gate);
  expect(harness.row(all.gated.run)).toMatchObject({ status: "completed" });
});

test("schedule 105: a run that ends while the clock is two days behind is kept for its whole time", async () => {
  const harness = createHarness();
  const machine = createClockedMachine(harness);
  const { world, clock } = machine.process();
  machine.aheadMs = -2 * MS.day;
  machine.follow();
  expect(clock.doubt()).toMatchObject({ kind: "behind", byMs: 2 * MS.day });
  const run = await ended(world);
  machine.pass(60_000);
  machine.aheadMs = 0;
  machine.follow();
  expect((await startUnder(world, "k")).kind).toBe("exists");
  machine.pass(22 * MS.hour);
  expect(await show(world, run)).toMatchObject({ status: "completed" });
  // One that keeps its new time was right: it is believed after an hour, and not before.
  machine.aheadMs = MS.day;
  machine.follow();
  machine.pass(59 * 60_000);
  expect(await show(world, run)).toMatchObject({ status: "completed" });
  machine.pass(2 * 60_000);
  expect(clock.doubt()).toBeNull();
  expect(await show(world, run)).toBeNull();
});

test("schedule 106: a machine restarts and its clock shows 40 days later: nothing expires within an hour", async () => {
  const harness = createHarness();
  const machine = createClockedMachine(harness);
  const all = await keptRun(harness, machine.process().world);
  machine.restart(40 * MS.day);
  machine.follow();
  const { world, clock } = machine.process();
  expect(clock.doubt()).toMatchObject({ kind: "away" });
  // What is new is written by the wall clock.
  expect(clock.now()).toBe(harness.clock.now());
  const { gate, idle, again } = await judgeAll(harness, world, all);
  // It looks again soon, and does not wait for another month.
  expect({ gate, idle }).toMatchObject({
    gate: { route: "park", seconds: 600 },
    idle: { route: "park", seconds: 600 },
  });
  expect(again).toBe("exists");
  expect(hasOrphan(harness)).toBe(true);
  expect(harness.row(all.gated.run)).toMatchObject({ status: "waiting" });
  expect(harness.row(all.parked.run)).toMatchObject({ status: "paused" });
  machine.pass(MS.hour / 2);
  await harness.sweep(world);
  expect(harness.row(all.parked.run)).toMatchObject({ status: "paused" });
  machine.pass(MS.hour);
  expect(clock.doubt()).toBeNull();
  await attemptBeat(runnerOf(world, all.gated.agent), gate);
  const warned = await beatReply(attemptBeat(runnerOf(world, all.idler), idle));
  expect(harness.row(all.gated.run)).toMatchObject({ status: "completed" });
  // Nobody was told before the deadline, so a warning comes first.
  expect(harness.row(all.parked.run)).toMatchObject({ status: "paused" });
  machine.pass(world.limits.idleRunMs / 10);
  await attemptBeat(runnerOf(world, all.idler), warned);
  expect(harness.row(all.parked.run)).toMatchObject({ status: "failed" });
});

test("schedule 107: a worker that starts after the jump uses the time that the supervisor trusts", async () => {
  const harness = createHarness();
  const machine = createClockedMachine(harness);
  const all = await keptRun(harness, machine.process().world);
  machine.aheadMs = 40 * MS.day;
  const { world, clock } = machine.process();
  expect(clock.now()).toBe(harness.clock.now());
  const { gate, idle, again } = await judgeAll(harness, world, all);
  expect({ gate: gate.route, idle: idle.route, again }).toEqual({ gate: "park", idle: "park", again: "exists" });
  await expectAllKept(harness, all);
});

/** A run whose call waits for 90 seconds, as its execution is driven on that machine. */
async function resting(harness: Harness, world: World) {
  const agent = waitingAgent({ reply: callsOnce("rest") });
  const { run } = await startKeyedRun(world, { agent, key: "rest" });
  const look = (): ReturnType<typeof harness.runAttempt> => harness.runAttempt(agent, world);
  while ((await waitsOf(harness.world, run)).length === 0) await look();
  return { run, agent, look };
}

test("schedule 235: the clock of an AWS process is set ahead between AWS's answer and its look, and ends no wait by its guess", async () => {
  const harness = createChainHarness();
  const told: Middleware[] = [];
  const client = { middlewareStack: { add: (each: Middleware) => void told.push(each) } };
  let aheadMs = 0;
  const clock = clockBesideAws([client], {
    wall: () => harness.clock.now() + aheadMs,
    count: () => harness.clock.now(),
  });
  const answer = async (): Promise<void> => {
    const date = new Date(harness.clock.now()).toUTCString();
    for (const middleware of told) await middleware(async () => ({ response: { headers: { date } } }))({});
  };
  const world = { ...harness.world, clock: { ...harness.clock, ...clock, after: harness.clock.after } };
  await answer();
  const { run, agent } = await resting(harness, world);
  const begun = harness.clock.now();
  harness.clock.moveTo(begun + 10_000);
  // Its clock is set once the claim of a beat has AWS's answer. Somebody has woken the run.
  await answer();
  aheadMs = MS.hour;
  expect(clock.now()).toBe(harness.clock.now() + MS.hour);
  const beat = () => {
    const { born, chain, epoch } = harness.row(run);
    return attemptBeat(runnerOf(world, agent), { run, born, chain, epoch, agent: agent.name });
  };
  await beat();
  expect(await waitsOf(harness.world, run)).toHaveLength(1);
  harness.clock.moveTo(begun + 90_000);
  await answer();
  await beat();
  expect(await waitsOf(harness.world, run)).toHaveLength(0);
});

type Middleware = (
  next: (call: object) => Promise<{ readonly response: unknown }>,
) => (call: object) => Promise<{ readonly response: unknown }>;

test("schedule 234: a clock is set back or ahead by an hour in a wait for a time, which ends when its time has passed", async () => {
  // A clock is set back by an hour in a wait for a time, which ends when its time has passed.
  {
    const harness = createChainHarness();
    const machine = createClockedMachine(harness);
    const { world, clock } = machine.process();
    const { run, look } = await resting(harness, world);
    const begun = harness.clock.now();
    machine.aheadMs = -MS.hour;
    machine.follow();
    expect(clock.doubt()).toMatchObject({ kind: "behind" });
    while (harness.row(run).status !== "completed") await look();
    expect(harness.clock.now() - begun).toBeLessThan(100_000);
    expect(harness.clock.now() - begun).toBeGreaterThanOrEqual(90_000);
  }
  // A clock is set ahead by an hour in a wait for a time, which does not end before.
  {
    const harness = createChainHarness();
    const machine = createClockedMachine(harness);
    const { world } = machine.process();
    const { run, look } = await resting(harness, world);
    const begun = harness.clock.now();
    machine.aheadMs = MS.hour;
    machine.follow();
    while (harness.row(run).status !== "completed") await look();
    expect(harness.clock.now() - begun).toBeGreaterThanOrEqual(90_000);
  }
  // A clock is set back by an hour in a wait for an answer, whose limit waits for every clock.
  {
    const harness = createChainHarness();
    const machine = createClockedMachine(harness);
    const { world } = machine.process();
    const agent = waitingAgent({ reply: callsOnce("askFor") });
    const { run } = await startKeyedRun(world, { agent, key: "ask" });
    while ((await waitsOf(harness.world, run)).length === 0) await harness.runAttempt(agent, world);
    machine.pass(LIMIT_MS - MS.hour / 2);
    machine.aheadMs = -MS.hour;
    machine.follow();
    machine.pass(MS.hour / 2 + 60_000);
    const { born, chain, epoch } = harness.row(run);
    await attemptBeat(runnerOf(world, agent), { run, born, chain, epoch, agent: agent.name });
    expect(await waitsOf(harness.world, run)).toHaveLength(1);
  }
});
