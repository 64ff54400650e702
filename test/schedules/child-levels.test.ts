/** Forced ends in families of more than two levels: who hears of them, and when. */
import { expect, test } from "vitest";
import { levelsOf } from "../support/runs/parent-steps.ts";
import { sweep } from "../support/harness/chain-steps.ts";

test("schedule 133: a sub-boss ends in a crash loop while its worker works; the root hears of it when the worker has stopped", async () => {
  const house = await levelsOf(["root", "middle"]);
  const { harness, runs } = house;
  const [root = "", sub = "", leaf = ""] = runs;
  await house.crashTwice(sub);
  await house.runAttempt(sub);
  expect(harness.row(sub)).toMatchObject({ status: "failed", endNotified: false });
  // The sweeper repeats the delivery, and the worker has not stopped yet.
  await sweep(harness.world);
  expect(harness.row(leaf)).toMatchObject({ status: "queued", cancel: true });
  expect(harness.row(root).wakeCount).toBe(harness.row(root).wakeCountSeen);
  await house.play(leaf);
  await sweep(harness.world);
  await house.playAll();
  expect([sub, root].map((each) => harness.row(each).endNotified)).toEqual([true, true]);
  // What was reserved for the worker counts as spent, up to the root.
  expect(harness.row(sub).spent.beats).toBe(1 + 5);
  expect(harness.row(root)).toMatchObject({ status: "completed", spent: { beats: 2 + 1 + 5 } });
});
