/** A run that cannot be judged, or a row that cannot be decoded, does not stop the sweep of the other runs. */
import { describe, expect, test } from "vitest";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import type { Row } from "../../src/protocol/row.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { begin, runnerOf } from "../support/drive.ts";
import { type Room, close, invocation, room, sweep, wait } from "../support/supervise.ts";
import { BEAT_MS, actor, rowOf } from "../support/stage.ts";

/** Live runs whose executions have ended, newest first: a sweep starts a new execution of each. */
async function deserted(on: Room, count: number): Promise<readonly string[]> {
  const runs: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const payload = await begin(on.world, actor({}), {});
    close(on, payload);
    runs.unshift(payload.run);
    wait(on, 1);
  }
  wait(on);
  return runs;
}

/** A world whose chain cannot describe these runs, and the runs about which a sweep asked it, in order. */
function mute(on: Room, isMute: (run: string) => boolean) {
  const asked: string[] = [];
  const start: World["chain"]["start"] = async (name, payload) => {
    if (asked.at(-1) !== payload.run) asked.push(payload.run);
    if (isMute(payload.run)) throw new StoreUnreachable("the executions cannot be described");
    return on.world.chain.start(name, payload);
  };
  return { asked, world: { ...on.world, chain: { ...on.world.chain, start } } };
}

const chains = (on: Room, runs: readonly string[]): readonly number[] => runs.map((run) => rowOf(on, run).chain);

describe("a run whose execution cannot be described", () => {
  test("is skipped with an alarm, and judged again by the next sweep", async () => {
    const on = room();
    const runs = await deserted(on, 3);
    const [, poison = ""] = runs;
    await sweep(on, mute(on, (run) => run === poison).world);
    expect(chains(on, runs)).toEqual([2, 1, 2]);
    const why = "the executions cannot be described";
    expect(on.alarms).toMatchObject([{ what: "SweepFailed", run: poison, detail: { why } }]);
    await sweep(on);
    expect(chains(on, runs)).toEqual([2, 2, 2]);
  });

  test("does not end the sweep when several such runs are spread over a page", async () => {
    const on = room();
    const runs = await deserted(on, 20);
    const poisoned = runs.filter((_, index) => index % 2 === 0);
    await sweep(on, mute(on, (run) => poisoned.includes(run)).world);
    expect(chains(on, runs).filter((chain) => chain === 2)).toHaveLength(10);
    expect(on.alarms.map(({ run }) => run)).toEqual(poisoned);
  });
});

describe("a store that is unavailable for all runs", () => {
  test("ends the sweep after five runs, and the next sweep continues after them", async () => {
    const on = room();
    const runs = await deserted(on, 12);
    const away = mute(on, () => true);
    await expect(sweep(on, away.world)).rejects.toThrow(StoreUnreachable);
    expect(away.asked).toEqual(runs.slice(0, 5));
    await expect(sweep(on, away.world)).rejects.toThrow(StoreUnreachable);
    expect(away.asked).toEqual(runs.slice(0, 10));
    const back = mute(on, () => false);
    await sweep(on, back.world);
    expect(back.asked).toEqual(runs.slice(10));
    await sweep(on, back.world);
    expect(chains(on, runs)).toEqual(runs.map(() => 2));
  });

  test("starves no run forever when only the newest five fail", async () => {
    const on = room();
    const runs = await deserted(on, 150);
    const half = mute(on, (run) => runs.slice(0, 5).includes(run));
    await expect(sweep(on, half.world)).rejects.toThrow(StoreUnreachable);
    await sweep(on, half.world);
    expect(chains(on, runs)).toEqual(runs.map((_, index) => (index < 5 ? 1 : 2)));
  });

  test("ends the sweep at once and keeps the cursor when it returns no page", async () => {
    const on = room();
    const runs = await deserted(on, 150);
    let pages = 0;
    const alive: World["table"]["alive"] = async (query) => {
      pages += 1;
      if (pages > 1) throw new StoreUnreachable("the table is away");
      return on.world.table.alive(query);
    };
    const { asked, world } = mute(on, () => false);
    await expect(sweep(on, { ...world, table: { ...world.table, alive } })).rejects.toThrow("the table is away");
    expect(asked).toHaveLength(100);
    await sweep(on, world);
    expect(asked).toEqual(runs);
  });
});

describe("a sweep that runs out of time", () => {
  test("continues with the next run in the next sweep, so that slow runs starve no other", async () => {
    const on = room();
    const runs = await deserted(on, 30);
    const slow = mute(on, () => false);
    const start: World["chain"]["start"] = (name, payload) => {
      wait(on, BEAT_MS / 4);
      return slow.world.chain.start(name, payload);
    };
    const world = { ...slow.world, chain: { ...slow.world.chain, start } };
    for (let round = 0; round < 30 && slow.asked.length < runs.length; round += 1) await sweep(on, world);
    expect(slow.asked).toEqual(runs);
  });

  test("has saved its cursor when it is killed while it waits for one run", async () => {
    const on = room();
    const runs = await deserted(on, 3);
    const stuck: World["chain"]["start"] = () => new Promise(() => undefined);
    const world = { ...on.world, chain: { ...on.world.chain, start: stuck } };
    const { deadline } = invocation(on);
    void runTask(runnerOf(world, actor({})))({ kind: "sweep" }, invocation(on));
    await expect.poll(() => on.world.store.turns.size).toBe(1);
    on.clock.moveTo(deadline);
    await expect.poll(() => on.world.store.turns.get("sweep")?.cursor).not.toBe(null);
    // It still holds the mutex lease, because it may be alive.
    await sweep(on);
    expect(chains(on, runs)).toEqual([1, 1, 1]);
    wait(on, BEAT_MS);
    await sweep(on);
    expect(chains(on, runs)).toEqual([1, 2, 2]);
  });
});

describe("a row that cannot be decoded", () => {
  const garbage = (on: Room, run: string, found: unknown): void => void on.world.store.rows.set(run, found as Row);

  test.each<readonly [string, (row: Row) => unknown]>([
    ["is nothing", () => null],
    ["is text", () => "{"],
    ["lacks a field", ({ epoch: _, ...rest }) => rest],
    ["names another run", (row) => ({ ...row, run: "local-other" })],
    ["has a status that is none", (row) => ({ ...row, status: "runninh" })],
  ])("that %s is named by an alarm, stays unchanged, and does not stop the sweep of other runs", async (_, to) => {
    const on = room();
    const runs = await deserted(on, 5);
    const [, poison = ""] = runs;
    const found = to(rowOf(on, poison));
    garbage(on, poison, found);
    await sweep(on);
    expect(on.world.store.rows.get(poison)).toEqual(found);
    const why = expect.stringContaining("its row is damaged: ") as string;
    expect(on.alarms).toMatchObject([{ what: "Unreadable", run: poison, detail: { why } }]);
    expect(
      chains(
        on,
        runs.filter((run) => run !== poison),
      ),
    ).toEqual([2, 2, 2, 2]);
  });

  test("is never the row at which a page ends", async () => {
    const on = room();
    const runs = await deserted(on, 205);
    for (const index of [0, 99, 100, 204]) garbage(on, runs[index] as string, {});
    await sweep(on);
    const left = runs.filter((run) => on.world.store.rows.get(run)?.chain === 1);
    expect(left).toEqual([]);
    expect(on.alarms).toHaveLength(4);
  });
});
