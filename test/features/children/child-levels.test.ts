/** Forced ends at two levels of a family, one below the other. */
import { expect, test } from "vitest";
import { levelsOf } from "../../support/runs/parent-steps.ts";
import { sweep } from "../../support/harness/chain-steps.ts";

test("two sub-bosses end in crash loops, one below the other; the root hears of it when the worker has stopped", async () => {
  const house = await levelsOf(["root", "middle", "lower"]);
  const { harness, runs } = house;
  const [root = "", middle = "", lower = "", leaf = ""] = runs;
  for (const run of [lower, middle]) {
    await house.crashTwice(run);
    await house.runAttempt(run);
  }
  await sweep(harness.world);
  expect([middle, lower].map((run) => harness.row(run).status)).toEqual(["failed", "failed"]);
  expect(harness.row(root).wakeCount).toBe(harness.row(root).wakeCountSeen);
  await house.play(leaf);
  for (const _ of runs) await sweep(harness.world);
  await house.playAll();
  expect(runs.map((run) => harness.row(run).endNotified)).toEqual([true, true, true, true]);
});
