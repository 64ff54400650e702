/** A sweep that judges several runs at once, and is killed, or waits for ever, at any of its calls. */
import { expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { World } from "../../src/ports/world.ts";
import { runnerOf } from "../support/harness/drive.ts";
import {
  neverSettles,
  scriptedAgent,
  flushPromises,
  MS,
  type Harness,
  createSupervisedHarness,
  executionNameOf,
} from "../support/harness/harness.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";
import { sampled } from "../support/gate/stride.ts";
import { wrapPorts } from "../support/harness/ports.ts";
import { runsWithoutExecution } from "../support/runs/abandoned-runs.ts";

/** Of the calls at which a sweep may stop, one in so many. */
const STRIDE = sampled(5, 1);

/** The runs that no sweep has given an execution. */
const missed = (harness: Harness, runs: readonly string[]): readonly string[] =>
  runs.filter((run) => {
    const row = harness.row(run);
    return row.chain === 1 || !harness.world.chain.executions.has(executionNameOf(row));
  });

/** A sweep that may never return, up to where it makes no more calls; then its deadline and its lease pass. */
async function sweepUntilKilled(harness: Harness, world: World): Promise<void> {
  let calls = 0;
  const counted = wrapPorts(world, async ({ send }) => {
    calls += 1;
    return send();
  });
  void runTask(runnerOf(counted, scriptedAgent({})))({ kind: "sweep" }, harness.invocation());
  for (let seen = -1; seen !== calls;) {
    seen = calls;
    await flushPromises();
  }
  harness.passTime(MS.beat);
  await flushPromises();
  harness.passTime(MS.skew);
}

/** A world in which no call returns from this one on, but its mutex lease can be taken. Says whether there was one. */
function silentFrom(world: World, at: number): { readonly world: World; readonly wasReached: () => boolean } {
  let count = 0;
  const mine = wrapPorts(world, async ({ port, send }) => {
    if (port === "leases") return send();
    count += 1;
    return count > at ? neverSettles() : send();
  });
  return { world: mine, wasReached: () => count > at };
}

test("schedule 150: a sweep of several runs at once is killed or waits for ever, and the next ones miss no run", async () => {
  await waitForEver();
  await die();
  await meetHangingRuns();
});

/** A sweep waits for ever at any call: the next one passes over one run, and the one after it over none. */
async function waitForEver(): Promise<void> {
  let [calls, passedOver] = [0, 0];
  for (let isOver = false; !isOver; calls += STRIDE) {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 20);
    const silent = silentFrom(harness.world, calls);
    await sweepUntilKilled(harness, silent.world);
    isOver = !silent.wasReached();
    await harness.sweep();
    const left = missed(harness, runs).length;
    expect(left).toBeLessThanOrEqual(1);
    passedOver += left;
    await harness.sweep();
    expect(missed(harness, runs)).toEqual([]);
  }
  expect(calls).toBeGreaterThan(80);
  expect(passedOver).toBeGreaterThan(40 / STRIDE);
}

/** A sweep is killed at any call, with no time to save its cursor: the next one misses no run. */
async function die(): Promise<void> {
  const crashes = await forEachCrashPoint(async (crash) => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 20);
    const dying = crashAtCall(harness.world, crash);
    const hasSurvived = await dying.survives((world) => harness.sweep(world));
    harness.passTime(MS.beat + MS.skew);
    await harness.sweep();
    expect(missed(harness, runs)).toEqual([]);
    return hasSurvived;
  }, STRIDE);
  expect(crashes).toBeGreaterThan(160);
}

/** Some runs hang each time: each sweep passes over one of them, and all others are judged. */
async function meetHangingRuns(): Promise<void> {
  const harness = createSupervisedHarness();
  const runs = await runsWithoutExecution(harness, 130);
  const hanging = new Set([0, 1, 50].map((index) => runs[index]));
  const start: World["chain"]["start"] = (name, payload) =>
    hanging.has(payload.run) ? neverSettles() : harness.world.chain.start(name, payload);
  const world = { ...harness.world, chain: { ...harness.world.chain, start } };
  for (let round = 0; round < 4; round += 1) await sweepUntilKilled(harness, world);
  expect(new Set(missed(harness, runs))).toEqual(hanging);
  await harness.sweep();
  expect(missed(harness, runs)).toEqual([]);
}
