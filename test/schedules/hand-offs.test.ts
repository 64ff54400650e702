/** Races between a child that may act outside and its parent, which wants to make another one for the same call. */
import { expect, test } from "vitest";
import { show, timeline } from "../../src/operations/views.ts";
import { Till, payer, payingBoss } from "../support/agents/payers.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { freezeBeforeCall, sweep } from "../support/harness/chain-steps.ts";
import { CHILD, LATE_MS, deployed, tooLate, waiting } from "../support/runs/late-child.ts";
import {
  beatOf,
  childrenOf,
  crashTwice,
  household,
  leaveOf,
  levelsOf,
  playAll,
  playOf,
  stateOf,
} from "../support/runs/parent-steps.ts";
import { flushPromises } from "../support/harness/harness.ts";

const paidOnce = (till: Till): void => assertSafety("paid once", () => expect(till.paid).toHaveLength(1));

test("schedule 213: a child acts and is too late; its call waits for its end, and no other child is made", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till, fate: () => "hangs" });
  const { harness, agents, run, child } = house;
  const out = leaveOf(house, child);
  out.perform({ world: harness.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  paidOnce(till);
  await tooLate(house);
  expect(await stateOf(house, run)).toMatchObject({ phase: "AwaitingChildren", children: [{ id: child, late: true }] });
  expect(harness.row(child)).toMatchObject({ cancel: true });
  out.end(null);
  await playAll(house);
  paidOnce(till);
  expect(childrenOf(house)).toMatchObject([{ status: "cancelled" }]);
  expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ call: "c1" }] });
});

test("schedule 214: a child has released nothing when it is too late, and acts then; no other child is made", async () => {
  const till = new Till();
  const house = await waiting({ effect: "unsafe", till });
  const { harness, agents, run, child } = house;
  const frozen = freezeBeforeCall(harness.world, "commit");
  const out = leaveOf(house, child);
  const late = out.perform({ world: frozen.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(till.paid).toEqual([]);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  // Its parent has decided, and the child has not been asked to stop.
  const deciding = freezeBeforeCall(harness.world, "fenceChild");
  const parent = leaveOf(house, run);
  const decided = parent.perform({ world: deciding.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(await stateOf(house, run)).toMatchObject({ children: [{ id: child, dispatch: 2, isContinuing: true }] });
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(late));
  paidOnce(till);
  deciding.thaw();
  parent.end(await harness.advanceUntilSettled(decided));
  await playAll(house);
  paidOnce(till);
  expect(childrenOf(house)).toHaveLength(1);
  expect((await show(harness.world, run))?.result).toEqual([{ outcome: "succeeded", result: { memo: "paid" } }]);
});

test("schedule 215: a child is not made when it is too late; it never was, so another one is made", async () => {
  const till = new Till();
  const house = await household([payingBoss({ child: CHILD }), payer({ effect: "unsafe", till })]);
  const { harness, agents, run } = house;
  const frozen = freezeBeforeCall(harness.world, "createChildren");
  const out = leaveOf(house, run);
  const late = out.perform({ world: frozen.world, agent: agents }).catch(() => undefined);
  for (let step = 0; step < 10; step += 1) await flushPromises();
  out.end(null);
  harness.clock.moveTo(harness.clock.now() + 20 * LATE_MS);
  await beatOf(house, run);
  frozen.thaw();
  await harness.advanceUntilSettled(late);
  await playAll(house);
  paidOnce(till);
  expect(childrenOf(house)).toHaveLength(1);
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
  await beatOf(house, leaf);
  await crashTwice(house, middle);
  await beatOf(house, middle);
  expect(harness.row(middle).status).toBe("failed");
  await playOf(house, leaf);
  for (const _ of runs) await sweep(harness.world);
  await playAll(house);
  expect((await stateOf(house, leaf)).outside?.calls ?? []).toMatchObject([{ tool: "act" }]);
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
  const out = leaveOf(house, child);
  const late = out.perform({ world: frozen.world, agent: agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(till.paid).toEqual([]);
  const after = deployed(house, "2");
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const deciding = freezeBeforeCall(harness.world, "fenceChild");
  const parent = leaveOf(after, run);
  const decided = parent.perform({ world: deciding.world, agent: after.agents });
  for (let step = 0; step < 10; step += 1) await flushPromises();
  expect(await stateOf(house, run)).toMatchObject({ children: [{ id: child, dispatch: 2, isContinuing: true }] });
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(late));
  paidOnce(till);
  deciding.thaw();
  parent.end(await harness.advanceUntilSettled(decided));
  await playAll(after);
  paidOnce(till);
  expect(childrenOf(house)).toHaveLength(1);
});
