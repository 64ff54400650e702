/** Races between a boss that takes its late child from the process that holds it, that process, and the next ones. */
import { expect, test } from "vitest";
import type { Check } from "../../src/ports/agent.ts";
import { type Conversation, type ScriptedReply } from "../../src/index.ts";
import { dispatchIn } from "../../src/protocol/row-fence.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { Till, payer, payingBoss } from "../support/agents/payers.ts";
import { INPUT } from "../support/agents/workers.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { storeOutage } from "../support/faults/store-outages.ts";
import { crashAfterCall, freezeBeforeCall, wrapTableCall } from "../support/harness/chain-steps.ts";
import {
  CHILD,
  LATE_MS,
  PART,
  SUCCEEDED,
  assertOnce,
  childOf,
  hangs,
  resultOf,
  settled,
  tooLate,
  waiting,
  waitsForItsRequest,
} from "../support/runs/late-child.ts";
import { household } from "../support/runs/parent-steps.ts";

test("schedule 251: a boss takes its child from a process and dies; its next process leaves the child alone", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: (number) => (number === 0 ? "hangs" : "returns") });
  const { harness, agents, run } = house;
  await hangs(house);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const out = house.startAttempt(run);
  out.perform({ world: crashAfterCall(harness.world, "fenceChild"), agent: agents }).catch(() => undefined);
  await settled();
  const fenced = childOf(house);
  expect(dispatchIn(fenced)).toBe(2);
  out.end(null);
  const before = (await house.state(run)).children;
  expect(before).toMatchObject([{ dispatch: 2, isContinuing: true }]);
  await house.runAttempt(run);
  const after = childOf(house);
  assertSafety("the child was taken once", () => {
    expect(after).toMatchObject({ dispatch: 2, epoch: fenced.epoch, chain: fenced.chain });
  });
  await house.playAll();
  assertOnce(house, till, "keyed");
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});

test("schedule 252: a request of the process before lands after a probed child goes on; it is waited for and found", async () => {
  await waitsForItsRequest("probed");
});

test("schedule 253: a boss freezes before it takes its child; the next one ends, and the first one thaws", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: (number) => (number === 0 ? "hangs" : "returns") });
  const { harness, agents, run } = house;
  const die = await hangs(house);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const frozen = freezeBeforeCall(harness.world, "fenceChild");
  const out = house.startAttempt(run);
  const zombie = out.perform({ world: frozen.world, agent: agents }).catch(() => undefined);
  await settled();
  out.end(null);
  expect(await sendRequest(harness.world, { run, want: "cancel" })).toBe("requested");
  await house.runAttempt(run);
  const asked = childOf(house);
  expect(asked).toMatchObject({ cancel: true });
  frozen.thaw();
  await harness.advanceUntilSettled(zombie);
  assertSafety("a process that lost its run takes no child", () => expect(childOf(house)).toEqual(asked));
  die();
  await house.playAll();
  assertOnce(house, till, "keyed");
  expect(harness.row(run).status).toBe("cancelled");
});

test("schedule 254: a child that was replaced still hangs; it delays the end of its boss, and no model call before", async () => {
  const said: string[] = [];
  const reply = ({ calls }: Conversation): ScriptedReply => {
    if (calls.length === 0) return { calls: [{ tool: "ask", args: { part: 0 } }] };
    said.push("over");
    return { text: said.length < 3 ? "over" : "really over" };
  };
  const isOver: Check = { name: "over", holds: ({ text }) => text === "really over" || "say more" };
  const till = new Till();
  const house = await household([
    { ...payingBoss({ child: { tries: 2, deadlineMs: LATE_MS }, reply }), done: [isOver] },
    payer({ effect: "none", till, isSilent: (number) => number === 0 }),
  ]);
  const { harness, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  const [first] = house.children();
  const die = await hangs({ ...house, child: first?.run ?? "" });
  await tooLate(house);
  const [, second] = house.children();
  await house.play(second?.run ?? "");
  for (let beat = 0; beat < 12 && said.length < 3; beat += 1) await house.runAttempt(run);
  expect(said).toHaveLength(3);
  for (let beat = 0; beat < 3; beat += 1) await settled();
  expect(harness.row(first?.run ?? "").status).toBe("running");
  assertSafety("the end waits", () => {
    expect(harness.row(run)).toMatchObject({ phase: "Reflecting" });
    expect(harness.row(run).status).not.toBe("completed");
  });
  die();
  await house.playAll();
  expect(harness.row(run).status).toBe("completed");
  expect(house.children().map(({ status }) => status)).toEqual(["cancelled", "completed"]);
});

test("schedule 255: the same call hangs again after the child went on; the hand-off ends", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: () => "hangs" });
  const { harness, run, child } = house;
  await hangs(house);
  await tooLate(house);
  const die = await hangs(house);
  await tooLate(house);
  await house.runAttempt(run);
  expect(childOf(house)).toMatchObject({ dispatch: 2, cancel: true });
  expect(await house.state(run)).toMatchObject({ children: [{ id: child, dispatch: 2, late: true }] });
  die();
  await house.playAll();
  expect(harness.world.store.rows.get(child)?.status).toBe("cancelled");
  assertOnce(house, till, "keyed");
});

test("schedule 256: an operator cancels a child, and it is taken from its process; it is cancelled", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: () => "hangs" });
  const { harness, agents, run, child } = house;
  await hangs(house);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const frozen = freezeBeforeCall(harness.world, "fenceChild");
  const out = house.startAttempt(run);
  const deciding = out.perform({ world: frozen.world, agent: agents });
  await settled();
  expect(await sendRequest(harness.world, { run: child, want: "cancel" })).toBe("requested");
  frozen.thaw();
  out.end(await harness.advanceUntilSettled(deciding));
  expect(childOf(house)).toMatchObject({ dispatch: 2, cancel: true });
  await house.playAll();
  expect(childOf(house).status).toBe("cancelled");
  expect(till.effectsOf(PART, "keyed")).toBe(1);
});

test("schedule 269: a fence lands and its answer is lost; the execution that waited for the child ends", async () => {
  const till = new Till();
  const middle = payingBoss({ name: "middle", task: INPUT });
  const root = payingBoss({ child: { ...CHILD, agent: "middle", output: undefined as never, budget: { beats: 50 } } });
  const house = await household([root, middle, payer({ effect: "keyed", till })]);
  const { harness, run } = house;
  await house.runAttempt(run);
  await house.runAttempt(run);
  const child = house.children()[0]?.run ?? "";
  await house.runAttempt(child);
  await house.runAttempt(child);
  const token = harness.row(child).park?.token ?? "";
  const waits = [...harness.world.chain.executions.values()].find((each) => each.token === token);
  expect(waits?.name).toContain(child);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const { table } = harness.world;
  let sent = 0;
  const fenceChild: typeof table.fenceChild = async (fence) => {
    const answer = await table.fenceChild(fence);
    return (sent += 1) === 1 ? { kind: "ambiguous", why: "no answer" } : answer;
  };
  await house.runAttempt(run, { ...harness.world, table: { ...table, fenceChild } });
  expect({ sent, dispatch: dispatchIn(harness.row(child)) }).toEqual({ sent: 2, dispatch: 2 });
  expect([...harness.world.chain.executions.values()].filter((each) => each.token === token)).toEqual([]);
  await house.playAll();
  assertSafety("paid once", () => expect(till.effectsOf(PART, "keyed")).toBe(1));
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 218: a fence lands, and the store is away before its answer comes; the next process of the boss starts the child", async () => {
  const till = new Till();
  const house = await waiting({ effect: "keyed", till, fate: (number) => (number === 0 ? "hangs" : "returns") });
  const { harness, agents, run } = house;
  const die = await hangs(house);
  harness.clock.moveTo(harness.clock.now() + LATE_MS);
  const outage = storeOutage(harness.world, "table");
  const world = wrapTableCall(outage.world, "fenceChild", (call) => async (fence) => {
    if (!outage.isAway) await call(fence);
    outage.isAway = true;
    return call(fence);
  });
  const out = house.startAttempt(run);
  const taking = out.perform({ world, agent: agents });
  await expect(harness.advanceUntilSettled(taking)).rejects.toThrow("does not answer");
  out.end(null);
  expect(dispatchIn(childOf(house))).toBe(2);
  const fenced = childOf(house);
  outage.isAway = false;
  die();
  const executionsOf = (): readonly string[] =>
    [...harness.world.chain.executions.keys()].filter((name) => name.startsWith(house.child));
  const before = executionsOf();
  await house.runAttempt(run);
  assertSafety("the child was taken once", () =>
    expect(childOf(house)).toMatchObject({ dispatch: 2, epoch: fenced.epoch }),
  );
  expect(executionsOf()).toHaveLength(before.length + 1);
  await house.playAll();
  assertOnce(house, till, "keyed");
  expect(await resultOf(house)).toEqual(SUCCEEDED);
});
