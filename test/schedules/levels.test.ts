/** Two versions of cairn take beats of one run: during a rollout, and after a rollback. */
import { expect, test } from "vitest";
import { LEVEL } from "../../src/core/levels.ts";
import { scriptedAgent, callsThenFinal, beatReply, createHarness } from "../support/harness/harness.ts";
import { beginRun } from "../support/harness/drive.ts";
import { crashAfterCall, freezeBeforeCall } from "../support/harness/chain-steps.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";

test("schedule 102: an older process claims a run of a newer one: the run stays unchanged and continues later", async () => {
  const harness = createHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent);
  // It was about to claim at a time at which every process could go on with the run.
  const older = freezeBeforeCall(harness.world, "claim");
  const out = harness.startAttempt();
  const late = out.perform({ world: older.world, agent });
  const newer = rewriteRow(harness.row(run), { level: LEVEL + 1 });
  harness.world.store.rows.set(run, newer);
  older.thaw();
  const result = await harness.advanceUntilSettled(late);
  expect(await beatReply(Promise.resolve(result))).toMatchObject({ route: "wait", behind: true, epoch: newer.epoch });
  expect(harness.row(run)).toEqual(newer);
  out.end(result);
  // The newer version is deployed: here, the level is one that every process knows.
  harness.world.store.rows.set(run, rewriteRow(newer, { level: LEVEL }));
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0, chain: 1 });
});

test("schedule 103: a newer process dies with the run and its retry is too old: the entry after its wait is accepted", async () => {
  const harness = createHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "claim"));
  const claimed = harness.row(run);
  const newer = rewriteRow(claimed, { level: LEVEL + 1 });
  harness.world.store.rows.set(run, newer);
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "wait", epoch: claimed.epoch });
  harness.world.store.rows.set(run, rewriteRow(newer, { level: LEVEL }));
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1, chain: 1 });
});
