/** Races between a child that may act outside and its parent, which wants to make another one for the same call. */
import { expect, test } from "vitest";
import { show, timeline } from "../../src/operations/views.ts";
import { Till, payer, payingBoss } from "../support/agents/payers.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { freezeBeforeCall, sweep } from "../support/harness/chain-steps.ts";
import { CHILD, LATE_MS, deployed, tooLate, waiting } from "../support/runs/late-child.ts";
import { household, levelsOf } from "../support/runs/parent-steps.ts";
import { flushPromises } from "../support/harness/harness.ts";

const paidOnce = (till: Till): void => assertSafety("paid once", () => expect(till.paid).toHaveLength(1));

test("schedule 213: a child acts and is too late; its call waits for its end, and no other child is made", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till, fate: () => "hangs" });
  const { harness, agents, run, child } = house;
  const out = house.startAttempt(child);
  out.perform({ world: harness.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  paidOnce(till);
  await tooLate(house);
  expect(await house.state(run)).toMatchObject({ phase: "AwaitingChildren", children: [{ id: child, late: true }] });
  expect(harness.row(child)).toMatchObject({ cancel: true });
  out.end(null);
  await house.playAll();
  paidOnce(till);
  expect(house.children()).toMatchObject([{ status: "cancelled" }]);
  expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
});

test("schedule 214: a child has released nothing when it is too late, and acts then; no other child is made", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till });
  const { harness, agents, run, child } = house;
  const frozen = freezeBeforeCall(harness.world, "commit");
  const out = house.startAttempt(child);
  const late = out.perform({ world: frozen.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(till.paid).toEqual([]);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  // Its parent has decided, and the child has not been asked to stop.
  const deciding = freezeBeforeCall(harness.world, "fenceChild");
  const parent = house.startAttempt(run);
  const decided = parent.perform({ world: deciding.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(await house.state(run)).toMatchObject({ children: [{ id: child, dispatch: 2, isContinuing: true }] });
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(late));
  paidOnce(till);
  deciding.thaw();
  parent.end(await harness.advanceUntilSettled(decided));
  await house.playAll();
  paidOnce(till);
  expect(house.children()).toHaveLength(1);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "paid" } }]);
});

test("schedule 215: a child is not made when it is too late; it never was, so another one is made", async () => {
  const till = new Till();
  const house = await household([payingBoss({ child: CHILD }), payer({ effect: "unsafe", till })]);
  const { harness, agents, run } = house;
  const frozen = freezeBeforeCall(harness.world, "createChildren");
  const out = house.startAttempt(run);
  const late = out.perform({ world: frozen.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  out.end(null);
  harness.clock.moveTo(harness.clock.now() + 20 * LATE_MS);
  await house.runAttempt(run);
  frozen.thaw();
  await harness.advanceUntilSettled(late);
  await house.playAll();
  paidOnce(till);
  expect(house.children()).toHaveLength(1);
  const kinds = ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "ChildNeverMade" || kind === "ChildDispatched")).toEqual([
    "ChildDispatched",
    "ChildNeverMade",
    "ChildDispatched",
  ]);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "paid" } }]);
});

test("schedule 216: a sub-boss ends in a crash loop, and its worker acts after that; the root hears what was done", async () => {
  const house = await levelsOf(["root", "middle"]);
  const { harness, runs } = house;
  const [root = "", middle = "", leaf = ""] = runs;
  await house.runAttempt(leaf);
  await house.crashTwice(middle);
  await house.runAttempt(middle);
  expect(harness.row(middle).status).toBe("failed");
  await house.play(leaf);
  for (const _ of runs) await sweep(harness.world);
  await house.playAll();
  expect((await house.state(leaf)).outside?.calls ?? []).toMatchObject([{ tool: "act" }]);
  expect(harness.row(root).status).toBe("completed");
  expect((await show(harness.world, root))?.result).toMatchObject([
    { outcome: "failed", result: { status: "failed", done: [expect.stringContaining(`act (c1, of run ${leaf}`)] } },
  ]);
});

test("schedule 205: a child of an earlier version has released nothing when it is too late, and acts then", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till });
  const { harness, agents, run, child } = house;
  const frozen = freezeBeforeCall(harness.world, "commit");
  const out = house.startAttempt(child);
  const late = out.perform({ world: frozen.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(till.paid).toEqual([]);
  const after = deployed(house, "2");
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const deciding = freezeBeforeCall(harness.world, "fenceChild");
  const parent = after.startAttempt(run);
  const decided = parent.perform({ world: deciding.world, agent: after.agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(await house.state(run)).toMatchObject({ children: [{ id: child, dispatch: 2, isContinuing: true }] });
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(late));
  paidOnce(till);
  deciding.thaw();
  parent.end(await harness.advanceUntilSettled(decided));
  await after.playAll();
  paidOnce(till);
  expect(house.children()).toHaveLength(1);
});
