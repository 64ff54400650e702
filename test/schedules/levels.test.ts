/** Two versions of cairn take beats of one run: during a rollout, and after a rollback. */
import { expect, test } from "vitest";
import { LEVEL } from "../../src/core/levels.ts";
import { actor, callsThenOver, passing, replyOf, rowOf, stage } from "../support/stage.ts";
import { begin } from "../support/drive.ts";
import { dyingAfter, frozenBefore, hear, leave, lose, perform, playOut, step } from "../support/steps.ts";
import { rewritten } from "../support/rewritten.ts";

test("schedule 102: an older process claims a run that a newer one has taken on: it is left as it is, and goes on later", async () => {
  const on = stage();
  const agent = actor({ reply: callsThenOver(2) });
  const { run } = await begin(on.world, agent, {});
  await step(on, agent);
  // It was about to claim at a time at which every process could go on with the run.
  const older = frozenBefore(on.world, "claim");
  const out = leave(on);
  const late = perform(out.task, { world: older.world, agent });
  const newer = rewritten(rowOf(on, run), { level: LEVEL + 1 });
  on.world.store.rows.set(run, newer);
  older.thaw();
  const result = await passing(on, late);
  expect(await replyOf(Promise.resolve(result))).toMatchObject({ route: "wait", behind: true, epoch: newer.epoch });
  expect(rowOf(on, run)).toEqual(newer);
  hear(on, out, result);
  // The newer version is deployed: here, the level is one that every process knows.
  on.world.store.rows.set(run, rewritten(newer, { level: LEVEL }));
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 0, chain: 1 });
});

test("schedule 103: a newer process dies with the run, and its retry is too old: the entry after its wait is not refused", async () => {
  const on = stage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  await lose(on, agent, dyingAfter(on.world, "claim"));
  const claimed = rowOf(on, run);
  const newer = rewritten(claimed, { level: LEVEL + 1 });
  on.world.store.rows.set(run, newer);
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "wait", epoch: claimed.epoch });
  on.world.store.rows.set(run, rewritten(newer, { level: LEVEL }));
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 1, chain: 1 });
});
