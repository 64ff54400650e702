/** Forced ends in families of more than two levels: who hears of them, and when. */
import { expect, test } from "vitest";
import {
  type Household,
  beatOf,
  childrenOf,
  crashTwice,
  household,
  playAll,
  playOf,
} from "../support/runs/parent-steps.ts";
import { rowOf } from "../support/harness/harness.ts";
import { sweep, withTakeovers } from "../support/harness/chain-steps.ts";
import { boss, worker } from "../support/agents/workers.ts";

/** Bosses of so many levels above one worker; those below the root are given up after two deaths. */
async function levelsOf(names: readonly string[]): Promise<Household & { readonly runs: readonly string[] }> {
  const bosses = names.map((name, level) => {
    const agent = names[level + 1] ?? "worker";
    const child = agent === "worker" ? {} : { agent, output: undefined as never, budget: { beats: 40 / (level + 1) } };
    const made = boss({ name, children: 1, child });
    return level === 0 ? made : { ...withTakeovers(made, 1), task: worker().task };
  });
  const house = await household([...bosses, worker()]);
  const runs = [house.run];
  for (const _ of names) {
    const run = runs.at(-1) ?? "";
    await beatOf(house, run);
    await beatOf(house, run);
    runs.push(childrenOf(house, run)[0]?.run ?? "");
  }
  return { ...house, runs };
}

test("schedule 136: a sub-boss ends in a crash loop while its worker works; the root hears of it when the worker has stopped", async () => {
  const house = await levelsOf(["root", "middle"]);
  const { harness, runs } = house;
  const [root = "", sub = "", leaf = ""] = runs;
  await crashTwice(house, sub);
  await beatOf(house, sub);
  expect(rowOf(harness, sub)).toMatchObject({ status: "failed", endNotified: false });
  // The sweeper repeats the delivery, and the worker has not stopped yet.
  await sweep(harness.world);
  expect(rowOf(harness, leaf)).toMatchObject({ status: "queued", cancel: true });
  expect(rowOf(harness, root).wakeCount).toBe(rowOf(harness, root).wakeCountSeen);
  await playOf(house, leaf);
  await sweep(harness.world);
  await playAll(house);
  expect([sub, root].map((each) => rowOf(harness, each).endNotified)).toEqual([true, true]);
  // What was reserved for the worker counts as spent, up to the root.
  expect(rowOf(harness, sub).spent.beats).toBe(1 + 5);
  expect(rowOf(harness, root)).toMatchObject({ status: "completed", spent: { beats: 2 + 1 + 5 } });
});

test("schedule 136: two sub-bosses end in crash loops, one below the other; the root hears of it when the worker has stopped", async () => {
  const house = await levelsOf(["root", "middle", "lower"]);
  const { harness, runs } = house;
  const [root = "", middle = "", lower = "", leaf = ""] = runs;
  for (const run of [lower, middle]) {
    await crashTwice(house, run);
    await beatOf(house, run);
  }
  await sweep(harness.world);
  expect([middle, lower].map((run) => rowOf(harness, run).status)).toEqual(["failed", "failed"]);
  expect(rowOf(harness, root).wakeCount).toBe(rowOf(harness, root).wakeCountSeen);
  await playOf(house, leaf);
  for (const _ of runs) await sweep(harness.world);
  await playAll(house);
  expect(runs.map((run) => rowOf(harness, run).endNotified)).toEqual([true, true, true, true]);
});
