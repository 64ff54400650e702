/** One sweep runs at a time, it stops in time, and the next sweep continues where it stopped. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { SWEEP_LANES } from "../../src/maintenance/sweep-page.ts";
import type { World } from "../../src/ports/world.ts";
import { beginRun, runnerOf } from "../support/harness/drive.ts";
import { scriptedAgent, neverSettles, type Harness, createSupervisedHarness, MS } from "../support/harness/harness.ts";

/** `count` runs whose start died, newest first. */
async function queued(harness: Harness, count: number): Promise<readonly string[]> {
  const silent = {
    ...harness.world,
    chain: { ...harness.world.chain, start: async () => ({ kind: "started" }) as const },
  };
  const runs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    runs.unshift((await beginRun(silent, scriptedAgent({}), {})).run);
    harness.passTime(1);
  }
  return runs;
}

/** A world in which all starts of executions that a sweep makes at once take that long, and the started runs. */
function slow(harness: Harness, ms: number) {
  const started: string[] = [];
  const start: World["chain"]["start"] = (name, payload) => {
    started.push(payload.run);
    if (started.length % SWEEP_LANES === 0) harness.passTime(ms);
    return harness.world.chain.start(name, payload);
  };
  return { started, world: { ...harness.world, chain: { ...harness.world.chain, start } } };
}

describe("a sweep", () => {
  test("visits each run of several pages once, from the newest to the oldest", async () => {
    const harness = createSupervisedHarness();
    const runs = await queued(harness, 230);
    const { started, world } = slow(harness, 0);
    await harness.sweep(world);
    expect(started).toEqual(runs);
    expect(harness.world.chain.executions.size).toBe(230);
  });

  test("stops before its deadline, also within a page, and the next sweep continues with the next run", async () => {
    const harness = createSupervisedHarness();
    const runs = await queued(harness, 230);
    const { started, world } = slow(harness, 240);
    const begun = harness.clock.now();
    await harness.sweep(world);
    // Its deadline minus twice the margin that every invocation keeps free.
    const room1 = MS.beat - 2 * harness.world.limits.drainMs;
    expect(harness.clock.now() - begun).toBeLessThan(room1 + 240);
    const most = SWEEP_LANES * Math.ceil(room1 / 240);
    expect(started.length).toBeGreaterThanOrEqual(most);
    expect(started.length).toBeLessThan(most + SWEEP_LANES);
    expect(started).toEqual(runs.slice(0, started.length));
    expect(started.length).toBeGreaterThan(100);
    expect(started.length).toBeLessThan(200);
    await harness.sweep(world);
    expect(started).toEqual(runs);
    // From the beginning again, because the last sweep was complete.
    started.splice(0);
    await harness.sweep(world);
    expect(started[0]).toBe(runs[0]);
  });

  test("stops after the current run when it is asked to drain", async () => {
    const harness = createSupervisedHarness();
    await queued(harness, 3);
    const drain = new AbortController();
    drain.abort();
    const perform = runTask(runnerOf(harness.world, scriptedAgent({})));
    await perform({ kind: "sweep" }, { ...harness.invocation(), drain: drain.signal });
    expect(harness.world.chain.executions.size).toBe(1);
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(3);
  });

  test("continues after a run that moved while it was judged, and does not start over", async () => {
    const harness = createSupervisedHarness();
    const runs = await queued(harness, 150);
    const { started, world } = slow(harness, 0);
    const last = runs[99] as string;
    const start: World["chain"]["start"] = (name, payload) => {
      if (payload.run === last)
        harness.changeRow({ run: last }, { status: "running", statusSince: harness.clock.now() });
      return world.chain.start(name, payload);
    };
    await harness.sweep({ ...world, chain: { ...world.chain, start } });
    expect(started).toEqual(runs);
  });
});

describe("schedule 46: of two sweeps at once", () => {
  /** A sweep that hangs forever in its first start of an execution. */
  async function stuck(harness: Harness): Promise<void> {
    const start = neverSettles;
    const world = { ...harness.world, chain: { ...harness.world.chain, start } };
    void runTask(runnerOf(world, scriptedAgent({})))({ kind: "sweep" }, harness.invocation());
    await expect.poll(() => harness.world.store.turns.size).toBe(1);
  }

  test("the second does nothing until the lease of the first has expired", async () => {
    const harness = createSupervisedHarness();
    await queued(harness, 2);
    await stuck(harness);
    const until = harness.clock.now() + MS.beat + MS.skew;
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(0);
    harness.clock.moveTo(until - 1);
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(0);
    harness.clock.moveTo(until);
    // It continues after the run at which the first hangs, and the sweep after it begins with that run again.
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(1);
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(2);
  });

  test("the first releases its mutex lease when it is done, so that the next need not wait for the expiry", async () => {
    const harness = createSupervisedHarness();
    await harness.sweep();
    const [run = ""] = await queued(harness, 1);
    await harness.sweep();
    expect(harness.world.chain.executions.size).toBe(1);
    expect(harness.row(run)).toMatchObject({ status: "queued", chain: 1 });
  });

  test("each learns the outcome of its lease request although the response was lost", async () => {
    const harness = createSupervisedHarness();
    await queued(harness, 1);
    let asked = 0;
    const take: World["leases"]["take"] = async (turn) => {
      asked += 1;
      const outcome = await harness.world.leases.take(turn);
      return asked % 2 === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    await harness.sweep({ ...harness.world, leases: { ...harness.world.leases, take } });
    expect(harness.world.chain.executions.size).toBe(1);
    // Take, release, and the note that all runs were judged, each sent twice.
    expect(asked).toBe(6);
  });
});
