/** A run that cannot be judged, or a row that cannot be decoded, does not stop the sweep of the other runs. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Row } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { runnerOf } from "../support/harness/drive.ts";
import { runsWithoutExecution } from "../support/runs/abandoned-runs.ts";
import { scriptedAgent, type Harness, createSupervisedHarness, MS } from "../support/harness/harness.ts";

/** A world whose chain cannot describe these runs, and the runs about which a sweep asked it, in order. */
function withoutResponse(harness: Harness, isMute: (run: string) => boolean) {
  const asked: string[] = [];
  const start: World["chain"]["start"] = async (name, payload) => {
    if (payload.chain === 1) asked.push(payload.run);
    if (isMute(payload.run)) throw new StoreUnreachable("the executions cannot be described");
    return harness.world.chain.start(name, payload);
  };
  return { asked, world: { ...harness.world, chain: { ...harness.world.chain, start } } };
}

const chains = (harness: Harness, runs: readonly string[]): readonly number[] =>
  runs.map((run) => harness.row(run).chain);

describe("a run whose execution cannot be described", () => {
  test("is skipped with an alarm, and judged again by the next sweep", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 3);
    const [, poison = ""] = runs;
    await harness.sweep(withoutResponse(harness, (run) => run === poison).world);
    expect(chains(harness, runs)).toEqual([2, 1, 2]);
    const why = "the executions cannot be described";
    expect(harness.alarms).toMatchObject([{ what: "SweepFailed", run: poison, detail: { why } }]);
    await harness.sweep();
    expect(chains(harness, runs)).toEqual([2, 2, 2]);
  });

  test("does not end the sweep when several such runs are spread over a page", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 20);
    const poisoned = runs.filter((_, index) => index % 2 === 0);
    await harness.sweep(withoutResponse(harness, (run) => poisoned.includes(run)).world);
    expect(chains(harness, runs).filter((chain) => chain === 2)).toHaveLength(10);
    expect(harness.alarms.map(({ run }) => run)).toEqual(poisoned);
  });
});

describe("a store that is unavailable for all runs", () => {
  test("ends the sweep after five runs and those under way, and the next sweep continues after them", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 50);
    const away = withoutResponse(harness, () => true);
    await expect(harness.sweep(away.world)).rejects.toThrow(StoreUnreachable);
    expect(away.asked).toEqual(runs.slice(0, 20));
    await expect(harness.sweep(away.world)).rejects.toThrow(StoreUnreachable);
    expect(away.asked).toEqual(runs.slice(0, 40));
    const back = withoutResponse(harness, () => false);
    await harness.sweep(back.world);
    expect([...new Set(back.asked)]).toEqual(runs.slice(40));
    await harness.sweep(back.world);
    expect(chains(harness, runs)).toEqual(runs.map(() => 2));
  });

  test("leaves all runs to the next sweep when it ended at the last of them", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 20);
    const away = withoutResponse(harness, () => true);
    await expect(harness.sweep(away.world)).rejects.toThrow(StoreUnreachable);
    expect(away.asked).toEqual(runs);
    await harness.sweep();
    expect(chains(harness, runs)).toEqual(runs.map(() => 2));
  });

  test("starves no run forever when only the newest five fail", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 150);
    const half = withoutResponse(harness, (run) => runs.slice(0, 5).includes(run));
    await expect(harness.sweep(half.world)).rejects.toThrow(StoreUnreachable);
    await harness.sweep(half.world);
    expect(chains(harness, runs)).toEqual(runs.map((_, index) => (index < 5 ? 1 : 2)));
  });

  test("ends the sweep at once and keeps the cursor when it returns no page", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 150);
    let pages = 0;
    const alive: World["table"]["alive"] = async (query) => {
      pages += 1;
      if (pages > 1) throw new StoreUnreachable("the table is away");
      return harness.world.table.alive(query);
    };
    const { asked, world } = withoutResponse(harness, () => false);
    await expect(harness.sweep({ ...world, table: { ...world.table, alive } })).rejects.toThrow("the table is away");
    expect(asked).toHaveLength(100);
    await harness.sweep(world);
    expect(asked).toEqual(runs);
  });
});

describe("a sweep that runs out of time", () => {
  test("continues with the next run in the next sweep, so that slow runs starve no other", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 30);
    const slow = withoutResponse(harness, () => false);
    const start: World["chain"]["start"] = (name, payload) => {
      harness.passTime(MS.beat / 4);
      return slow.world.chain.start(name, payload);
    };
    const world = { ...slow.world, chain: { ...slow.world.chain, start } };
    let sweeps = 0;
    for (; slow.asked.length < runs.length && sweeps < 9; sweeps += 1) await harness.sweep(world);
    expect(slow.asked).toEqual(runs);
    expect(sweeps).toBe(2);
  });

  test("has saved its cursor when it is killed while it waits for one run", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 3);
    const stuck: World["chain"]["start"] = () => new Promise(() => undefined);
    const world = { ...harness.world, chain: { ...harness.world.chain, start: stuck } };
    const { deadline } = harness.invocation();
    void runTask(runnerOf(world, scriptedAgent({})))({ kind: "sweep" }, harness.invocation());
    await expect.poll(() => harness.world.store.turns.size).toBe(1);
    harness.clock.moveTo(deadline);
    await expect.poll(() => harness.world.store.turns.get("sweep")?.cursor).not.toBe(null);
    // It still holds the mutex lease, because it may be alive.
    await harness.sweep();
    expect(chains(harness, runs)).toEqual([1, 1, 1]);
    harness.passTime(MS.beat);
    await harness.sweep();
    expect(chains(harness, runs)).toEqual([1, 2, 2]);
  });
});

describe("a row that cannot be decoded", () => {
  const garbage = (harness: Harness, run: string, found: unknown): void =>
    void harness.world.store.rows.set(run, found as Row);

  test.each<readonly [string, (row: Row) => unknown]>([
    ["is nothing", () => null],
    ["is text", () => "{"],
    ["lacks a field", ({ epoch: _, ...rest }) => rest],
    ["names another run", (row) => ({ ...row, run: "local-other" })],
    ["has a status that is none", (row) => ({ ...row, status: "runninh" })],
  ])("that %s is named by an alarm, stays unchanged, and does not stop the sweep of other runs", async (_, to) => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 5);
    const [, poison = ""] = runs;
    const found = to(harness.row(poison));
    garbage(harness, poison, found);
    await harness.sweep();
    expect(harness.world.store.rows.get(poison)).toEqual(found);
    const why = expect.stringContaining("its row is damaged: ") as string;
    expect(harness.alarms).toMatchObject([{ what: "Unreadable", run: poison, detail: { why } }]);
    expect(
      chains(
        harness,
        runs.filter((run) => run !== poison),
      ),
    ).toEqual([2, 2, 2, 2]);
  });

  test("is never the row at which a page ends", async () => {
    const harness = createSupervisedHarness();
    const runs = await runsWithoutExecution(harness, 205);
    for (const index of [0, 99, 100, 204]) garbage(harness, runs[index] as string, {});
    await harness.sweep();
    const left = runs.filter((run) => harness.world.store.rows.get(run)?.chain === 1);
    expect(left).toEqual([]);
    expect(harness.alarms).toHaveLength(4);
  });
});
