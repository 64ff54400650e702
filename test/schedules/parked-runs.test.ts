/** Runs that wait without an execution: who hands such a run over, who starts it again, and when. */
import { expect, test } from "vitest";
import type { Payload } from "../../src/protocol/chain.ts";
import { type Row, hasEnded } from "../../src/protocol/row.ts";
import { isAsleep, wakeAheadMs } from "../../src/protocol/row-park.ts";
import type { World } from "../../src/ports/world.ts";
import { startExecution } from "../../src/engine/context/executions.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  type Harness,
  createChainHarness,
  scriptedAgent,
  flushPromises,
  performTask,
} from "../support/harness/harness.ts";
import { beforeCall, crashAfterCall, freezeBeforeCall, sweep } from "../support/harness/chain-steps.ts";

const OPEN_PARK_MS = 600_000;
const agent = scriptedAgent({ approval: "always" });

/** A run that is about to wait for an approval, and its harness. */
async function waitingRun(openParkMs = OPEN_PARK_MS) {
  const harness = createChainHarness({ openParkMs, overdueMs: 1_000 });
  return { harness, payload: await beginRun(harness.world, agent, {}) };
}

/** The run waits for an approval, and its execution has ended. */
async function asleepRun() {
  const { harness, payload } = await waitingRun();
  await harness.runUntilIdle(agent);
  expect(isAsleep(harness.row(payload.run))).toBe(true);
  expect(isDriven(harness)).toBe(false);
  return { harness, payload };
}

const say = (world: World, { run }: Payload, id = "m1") => send(world, { run, text: "hello", by: "ada", id });

const isDriven = ({ world }: Harness): boolean => world.chain.next() !== null;

const hasRead = ({ wakeCount, wakeCountSeen }: Row): boolean => wakeCount === wakeCountSeen;

/** Names of the executions that were started, in order. */
function startsIn(harness: Harness): { readonly world: Harness["world"]; readonly starts: string[] } {
  const starts: string[] = [];
  const { chain } = harness.world;
  const start: World["chain"]["start"] = async (name, payload) => {
    const outcome = await chain.start(name, payload);
    if (outcome.kind === "started") starts.push(`${payload.chain} ${payload.epoch}`);
    return outcome;
  };
  return { world: { ...harness.world, chain: { ...chain, start } }, starts };
}

test("schedule 172: a sender hands a run over and dies before the start; its message sent again, and a sweep, start the run", async () => {
  for (const again of [
    (world: World, payload: Payload) => say(world, payload),
    (world: World, payload: Payload) => say(world, payload, "m2"),
    (world: World) => sweep(world),
  ]) {
    const { harness, payload } = await asleepRun();
    void say(crashAfterCall(harness.world, "handOver"), payload);
    await flushPromises();
    expect(harness.row(payload.run)).toMatchObject({ chain: 2, park: null });
    expect(isDriven(harness)).toBe(false);
    harness.clock.moveTo(harness.clock.now() + harness.world.limits.overdueMs);
    await again(harness.world, payload);
    expect(isDriven(harness)).toBe(true);
    await harness.runUntilIdle(agent);
    expect(harness.row(payload.run)).toMatchObject({ chain: 2 });
    expect(hasRead(harness.row(payload.run))).toBe(true);
    expect(isAsleep(harness.row(payload.run))).toBe(true);
  }
});

test("schedule 173: two messages come at once, or one and a sweep, and start one execution", async () => {
  for (const other of [
    (world: World, payload: Payload) => say(world, payload, "m2"),
    (world: World, { run }: Payload) => sendRequest(world, { run, want: "resume" }),
    (world: World) => sweep(world),
  ]) {
    const { harness, payload } = await asleepRun();
    const { world, starts } = startsIn(harness);
    const frozen = freezeBeforeCall(world, "handOver");
    const first = say(frozen.world, payload);
    await flushPromises();
    await other(world, payload);
    await harness.runUntilIdle(agent);
    // It read the row before the other one handed the run over, and the run is parked once more by now.
    frozen.thaw();
    await first;
    expect(starts).toEqual([expect.stringMatching(/^2 /)]);
    await harness.runUntilIdle(agent);
    expect(harness.row(payload.run)).toMatchObject({ chain: 2 });
    expect(hasRead(harness.row(payload.run))).toBe(true);
  }
});

test("schedule 174: a message comes after the release of a run and before its execution ends; the execution goes on", async () => {
  const { harness, payload } = await waitingRun();
  const { world, starts } = startsIn(harness);
  await harness.runAttempt(
    agent,
    beforeCall(world, "park", () => say(world, payload)),
  );
  expect(harness.row(payload.run).park).toBeNull();
  expect(isDriven(harness)).toBe(true);
  await harness.runUntilIdle(agent);
  expect(starts).toEqual([]);
  expect(isAsleep(harness.row(payload.run))).toBe(true);
  expect(hasRead(harness.row(payload.run))).toBe(true);
});

test("schedule 175: a process notes that its execution ends, and dies; a message comes before the execution is over", async () => {
  const { harness, payload } = await waitingRun();
  const { world, starts } = startsIn(harness);
  await harness.loseAttempt(agent, crashAfterCall(world, "park"));
  expect(isAsleep(harness.row(payload.run))).toBe(true);
  // The sender dies too, so only the retry of the old execution is left.
  void say(crashAfterCall(world, "handOver"), payload);
  await flushPromises();
  expect(harness.row(payload.run).chain).toBe(2);
  await { ...harness, world }.runUntilIdle(agent);
  expect(starts).toEqual([expect.stringMatching(/^2 /)]);
  expect(hasRead(harness.row(payload.run))).toBe(true);
  expect(isAsleep(harness.row(payload.run))).toBe(true);
});

test("schedule 176: a process freezes after the release, its retry goes on with the run, and its late note is refused", async () => {
  const { harness, payload } = await waitingRun();
  const frozen = freezeBeforeCall(harness.world, "park");
  const out = harness.startAttempt();
  const zombie = out.perform({ world: frozen.world, agent });
  await flushPromises();
  out.end(null);
  const retry = freezeBeforeCall(harness.world, "commit");
  const next = harness.startAttempt();
  const reply = next.perform({ world: retry.world, agent });
  await flushPromises();
  frozen.thaw();
  expect(await zombie).toMatchObject({ reply: { route: "superseded" } });
  expect(harness.row(payload.run).park).toBeNull();
  retry.thaw();
  next.end(await reply);
  await harness.runUntilIdle(agent);
  expect(isAsleep(harness.row(payload.run))).toBe(true);
});

test("schedule 177: a beat of the old execution comes after the hand-over, and is refused", async () => {
  const { harness, payload } = await waitingRun();
  const out = harness.startAttempt();
  out.end(await out.perform({ world: harness.world, agent }));
  await say(harness.world, payload);
  const { epoch } = harness.row(payload.run);
  // Both the attempt that was and one of the epoch that the old execution left.
  for (const entry of [{ retry: 99 }, { epoch: epoch - 1, retry: 0 }]) {
    if (out.task.kind !== "beat") throw new Error("no beat");
    const attempt = { ...out.task.attempt, ...entry };
    const result = await performTask({ ...out.task, attempt }, { world: harness.world, agent });
    expect(result).toMatchObject({ reply: { route: "renew", chain: 2 } });
  }
  expect(harness.row(payload.run)).toMatchObject({ epoch, owner: null });
});

test("schedule 178: a sweep wakes a run ahead of its timer, but never ahead of its deadline, which a beat would move", async () => {
  const { harness, payload } = await asleepRun();
  const { limits } = harness.world;
  const { wakeAt, deadline } = harness.row(payload.run);
  if (wakeAt === null) throw new Error("it waits for no time");
  expect(wakeAt).toBeLessThan(deadline);
  harness.clock.moveTo(wakeAt - wakeAheadMs(limits) - 1);
  await sweep(harness.world);
  expect(isDriven(harness)).toBe(false);
  harness.clock.moveTo(wakeAt - wakeAheadMs(limits));
  await sweep(harness.world);
  await harness.runAttempt(agent);
  await harness.runAttempt(agent);
  // What is left of the wait is an open park, which ends on time.
  expect(harness.row(payload.run)).toMatchObject({ chain: 2, wakeAt });
  expect(isAsleep(harness.row(payload.run))).toBe(false);
  await harness.runAttempt(agent);
  expect(harness.clock.now()).toBeGreaterThanOrEqual(wakeAt - 1_000);
  expect(harness.clock.now()).toBeLessThan(wakeAt + 2_000);

  const paused = await waitingRun();
  await sendRequest(paused.harness.world, { run: paused.payload.run, want: "pause" });
  await paused.harness.runUntilIdle(agent);
  const { run } = paused.payload;
  const until = paused.harness.row(run).deadline;
  // A beat has warned of the deadline, so the run waits until then.
  paused.harness.clock.moveTo(paused.harness.row(run).wakeAt ?? 0);
  await sweep(paused.harness.world);
  await paused.harness.runUntilIdle(agent);
  expect(paused.harness.row(run)).toMatchObject({ status: "paused", wakeAt: until });
  const { chain } = paused.harness.row(run);
  paused.harness.clock.moveTo(until - 2_000);
  await sweep(paused.harness.world);
  expect(paused.harness.row(run)).toMatchObject({ chain, deadline: until });
  paused.harness.clock.moveTo(until);
  await sweep(paused.harness.world);
  await paused.harness.runUntilIdle(agent);
  expect(hasEnded(paused.harness.row(run))).toBe(true);
});

test("schedule 179: a process of an older version takes the note for a token; it wakes nothing, and a sweep starts the run", async () => {
  const { harness, payload } = await asleepRun();
  // What older code does after it has stored a message.
  void say(crashAfterCall(harness.world, "deliver"), payload);
  await flushPromises();
  expect(await harness.world.chain.wake(harness.row(payload.run).park?.token ?? "")).toEqual({ kind: "awake" });
  // An older sweep starts the execution that the row names, whose name is used, and then the next one.
  await startExecution(harness.world, harness.row(payload.run));
  await harness.runUntilIdle(agent);
  expect(harness.row(payload.run)).toMatchObject({ chain: 2 });
  expect(hasRead(harness.row(payload.run))).toBe(true);
});

test("schedule 229: no process ran for a month, so the deadline was over before anyone was told; a beat warns first", async () => {
  for (const openParkMs of [OPEN_PARK_MS, 31 * 24 * 3_600_000]) {
    const { harness, payload } = await waitingRun(openParkMs);
    await sendRequest(harness.world, { run: payload.run, want: "pause" });
    await harness.runUntilIdle(agent);
    const { deadline } = harness.row(payload.run);
    const { idleRunMs } = harness.world.limits;
    harness.clock.moveTo(deadline + 24 * 3_600_000);
    const noticed = harness.clock.now();
    await sweep(harness.world);
    await harness.runUntilIdle(agent);
    const end = harness.row(payload.run).deadline;
    expect(harness.row(payload.run)).toMatchObject({ status: "paused", wakeAt: end });
    expect(end).toBeGreaterThanOrEqual(noticed + idleRunMs / 10);
    harness.clock.moveTo(end);
    await sweep(harness.world);
    await harness.runUntilIdle(agent);
    expect(hasEnded(harness.row(payload.run))).toBe(true);
  }
});
