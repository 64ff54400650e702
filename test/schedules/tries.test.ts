/** Races around a child that acted, fails, and goes on with the next try of its parent in place of its end. */
import { expect, test } from "vitest";
import { dispatchIn } from "../../src/protocol/row-fence.ts";
import type { World } from "../../src/ports/world.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { TIMES } from "../../src/protocol/limits.ts";
import { Till, payer, payingBoss } from "../support/agents/payers.ts";
import { OVER } from "../support/agents/workers.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { createChainHarness, neverSettles } from "../support/harness/harness.ts";
import { beforeCall, crashAfterCall, freezeBeforeCall, sweep, withTakeovers } from "../support/harness/chain-steps.ts";
import { LATE_MS, SUCCEEDED, assertOnce, resultOf, settled } from "../support/runs/late-child.ts";
import { type Household, household } from "../support/runs/parent-steps.ts";

interface Crashing extends Household {
  readonly child: string;
  readonly till: Till;
  /** From now on the model of the child answers. */
  readonly mend: () => void;
  /** How often it was asked after the payment. */
  readonly asked: () => number;
}

/** The child has paid, and its process hangs at each call of its model after that. Two deaths are one too many. */
async function crashing(deadlineMs: number): Promise<Crashing> {
  const till = new Till();
  let [isMended, asked] = [false, 0];
  const reply = () => {
    asked += 1;
    return isMended ? OVER : neverSettles();
  };
  const worker = withTakeovers(payer({ effect: "keyed", till, reply }), 1);
  const boss = payingBoss({ child: { tries: 3, deadlineMs, budget: { beats: 19 } } });
  const house = await household([boss, worker], createChainHarness({ overdueMs: 1_000 }));
  await house.runAttempt(house.run);
  await house.runAttempt(house.run);
  const child = house.children()[0]?.run ?? "";
  await house.runAttempt(child);
  expect(till.paid).toHaveLength(1);
  return { ...house, child, till, mend: () => void (isMended = true), asked: () => asked };
}

/** A process of the child dies where it hangs. */
async function dies(house: Crashing, world: World = house.harness.world): Promise<void> {
  const out = house.startAttempt(house.child);
  out.perform({ world, agent: house.agents }).catch(() => undefined);
  await settled();
  out.end(null);
}

const expectedIn = async (house: Crashing) => (await house.state(house.child)).expected;

const LONG = 3_600_000;

test("schedule 208: the code of a child kills its process again after the try that forgot its deaths; the try is used up", async () => {
  const house = await crashing(LONG);
  await dies(house);
  await dies(house);
  expect(house.harness.row(house.child)).toMatchObject({ deaths: 1 });
  await dies(house);
  assertSafety("the try is durable before the code of the agent runs", () => {
    expect(house.harness.row(house.child)).toMatchObject({ deaths: 0, owner: expect.any(String) });
  });
  expect(await expectedIn(house)).toMatchObject({ returned: 1, after: { failure: { code: "CrashLoop" } } });
  await dies(house);
  await house.runAttempt(house.child);
  // The same place: without a message in between it ends.
  expect(house.harness.row(house.child)).toMatchObject({ status: "failed" });
  await house.playAll();
  assertOnce(house, house.till, "keyed");
  expect(await resultOf(house)).toMatchObject([{ outcome: "failed", result: { done: [expect.any(String)] } }]);
});

test("schedule 209: a sweep counts the try of a child whose processes die before they begin, and dies itself; the child is started", async () => {
  const house = await crashing(LONG);
  const { harness, child } = house;
  await dies(house);
  await dies(house);
  // The last one dies with its claim, and the execution is gone with it.
  await dies(house, crashAfterCall(harness.world, "claim"));
  harness.stopExecution(harness.row(child));
  const freeAt = Math.max(harness.clock.now(), harness.row(child).leaseUntil ?? 0);
  harness.clock.moveTo(freeAt + TIMES.waitSecondsMax * 1_000 + harness.world.limits.overdueMs);
  sweep(crashAfterCall(harness.world, "commit")).catch(() => undefined);
  await settled();
  const counted = harness.row(child);
  expect(counted).toMatchObject({ status: "running", deaths: 0, owner: null });
  expect(await expectedIn(house)).toMatchObject({ returned: 1, after: { failure: { code: "Abandoned" } } });
  house.mend();
  harness.clock.moveTo(harness.clock.now() + TIMES.waitSecondsMax * 1_000 + harness.world.limits.overdueMs);
  await sweep(harness.world);
  await house.playAll();
  assertOnce(house, house.till, "keyed");
  expect(harness.row(child)).toMatchObject({ status: "completed", endNotified: true });
  expect(await expectedIn(house)).toMatchObject({ returned: 1 });
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});

test("schedule 238: an operator cancels a child that is to go on with its next try; it is cancelled, and asks no model", async () => {
  const house = await crashing(LONG);
  const { harness, child } = house;
  await dies(house);
  await dies(house);
  const asked = house.asked();
  const out = house.startAttempt(child);
  // The cancel comes between the claim of the process and its commit.
  const world = beforeCall(harness.world, "commit", () => sendRequest(harness.world, { run: child, want: "cancel" }));
  const beat = out.perform({ world, agent: house.agents });
  out.end(await harness.advanceUntilSettled(beat));
  await house.playAll();
  assertSafety("a cancel is not lost", () => expect(harness.row(child).status).toBe("cancelled"));
  expect(house.asked()).toBe(asked);
  expect(await expectedIn(house)).toMatchObject({ returned: 1 });
  assertOnce(house, house.till, "keyed");
});

test("schedule 239: a process that goes on with the next try freezes, and its child is fenced; the try counts once", async () => {
  const house = await crashing(LATE_MS);
  const { harness, child, run } = house;
  await dies(house);
  await dies(house);
  const out = house.startAttempt(child);
  const frozen = freezeBeforeCall(harness.world, "commit");
  const beat = out.perform({ world: frozen.world, agent: house.agents });
  await settled();
  harness.clock.moveTo(Math.max(harness.clock.now(), (await house.state(run)).children[0]?.deadline ?? 0));
  house.mend();
  await house.runAttempt(run);
  expect(dispatchIn(harness.row(child))).toBe(2);
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(beat));
  assertSafety("a process that lost the run counts nothing", () => {
    expect(harness.row(child)).toMatchObject({ owner: null, dispatch: 2 });
  });
  expect((await expectedIn(house))?.returned).toBeUndefined();
  await house.playAll();
  assertOnce(house, house.till, "keyed");
  expect(await expectedIn(house)).toMatchObject({ returned: 1 });
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});
