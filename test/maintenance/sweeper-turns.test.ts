/** One sweep runs at a time, it stops in time, and the next sweep continues where it stopped. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { World } from "../../src/ports/world.ts";
import { begin, runnerOf } from "../support/drive.ts";
import { type Room, change, invocation, room, sweep, wait } from "../support/supervise.ts";
import { BEAT_MS, SKEW_MS, actor, never, rowOf } from "../support/stage.ts";

/** `count` runs whose start died, newest first. */
async function queued(on: Room, count: number): Promise<readonly string[]> {
  const silent = { ...on.world, chain: { ...on.world.chain, start: async () => ({ kind: "started" }) as const } };
  const runs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    runs.unshift((await begin(silent, actor({}), {})).run);
    wait(on, 1);
  }
  return runs;
}

/** A world in which each start of an execution takes that long, and the started runs. */
function slow(on: Room, ms: number) {
  const started: string[] = [];
  const start: World["chain"]["start"] = (name, payload) => {
    started.push(payload.run);
    wait(on, ms);
    return on.world.chain.start(name, payload);
  };
  return { started, world: { ...on.world, chain: { ...on.world.chain, start } } };
}

describe("a sweep", () => {
  test("visits each run of several pages once, from the newest to the oldest", async () => {
    const on = room();
    const runs = await queued(on, 230);
    const { started, world } = slow(on, 0);
    await sweep(on, world);
    expect(started).toEqual(runs);
    expect(on.world.chain.executions.size).toBe(230);
  });

  test("stops before its deadline, also within a page, and the next sweep continues with the next run", async () => {
    const on = room();
    const runs = await queued(on, 230);
    const { started, world } = slow(on, 15);
    const begun = on.clock.now();
    await sweep(on, world);
    // Its deadline minus twice the margin that every invocation keeps free.
    const room1 = BEAT_MS - 2 * on.world.limits.drainMs;
    expect(on.clock.now() - begun).toBeLessThan(room1 + 15);
    expect(started).toEqual(runs.slice(0, Math.ceil(room1 / 15)));
    expect(started.length).toBeGreaterThan(100);
    expect(started.length).toBeLessThan(200);
    await sweep(on, world);
    expect(started).toEqual(runs);
    // From the beginning again, because the last sweep was complete.
    started.splice(0);
    await sweep(on, world);
    expect(started[0]).toBe(runs[0]);
  });

  test("stops after the current run when it is asked to drain", async () => {
    const on = room();
    await queued(on, 3);
    const drain = new AbortController();
    drain.abort();
    const perform = runTask(runnerOf(on.world, actor({})));
    await perform({ kind: "sweep" }, { ...invocation(on), drain: drain.signal });
    expect(on.world.chain.executions.size).toBe(1);
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(3);
  });

  test("continues after a run that moved while it was judged, and does not start over", async () => {
    const on = room();
    const runs = await queued(on, 150);
    const { started, world } = slow(on, 0);
    const last = runs[99] as string;
    const start: World["chain"]["start"] = (name, payload) => {
      if (payload.run === last) change(on, { run: last }, { status: "running", statusSince: on.clock.now() });
      return world.chain.start(name, payload);
    };
    await sweep(on, { ...world, chain: { ...world.chain, start } });
    expect(started).toEqual(runs);
  });
});

describe("schedule 46: of two sweeps at once", () => {
  /** A sweep that hangs forever in its first start of an execution. */
  async function stuck(on: Room): Promise<void> {
    const start = never;
    const world = { ...on.world, chain: { ...on.world.chain, start } };
    void runTask(runnerOf(world, actor({})))({ kind: "sweep" }, invocation(on));
    await expect.poll(() => on.world.store.turns.size).toBe(1);
  }

  test("the second does nothing until the first must be dead", async () => {
    const on = room();
    await queued(on, 2);
    await stuck(on);
    const until = on.clock.now() + BEAT_MS + SKEW_MS;
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(0);
    on.clock.moveTo(until - 1);
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(0);
    on.clock.moveTo(until);
    // It continues after the run at which the first hangs, and the sweep after it begins with that run again.
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(1);
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(2);
  });

  test("the first releases its mutex lease when it is done, so that the next need not wait for the expiry", async () => {
    const on = room();
    await sweep(on);
    const [run = ""] = await queued(on, 1);
    await sweep(on);
    expect(on.world.chain.executions.size).toBe(1);
    expect(rowOf(on, run)).toMatchObject({ status: "queued", chain: 1 });
  });

  test("each learns the outcome of its lease request although the response was lost", async () => {
    const on = room();
    await queued(on, 1);
    let asked = 0;
    const takeTurn: World["table"]["takeTurn"] = async (turn) => {
      asked += 1;
      const outcome = await on.world.table.takeTurn(turn);
      return asked % 2 === 1 ? { kind: "ambiguous", why: "timeout" } : outcome;
    };
    await sweep(on, { ...on.world, table: { ...on.world.table, takeTurn } });
    expect(on.world.chain.executions.size).toBe(1);
    // Take and release, each sent twice.
    expect(asked).toBe(4);
  });
});
