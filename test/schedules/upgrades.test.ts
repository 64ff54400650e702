/** What is deployed changes under a run: nothing that was begun is dropped, and nothing is called that nobody wanted. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import type { Answer } from "../../src/core/event.ts";
import type { World } from "../../src/ports/world.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import { begin } from "../support/drive.ts";
import { type Stage, actor, beforeCommit, callsThenOver, chainedStage, rowOf } from "../support/stage.ts";
import { dieInTool, frozenBefore, playOut, rest, step } from "../support/steps.ts";

const version = (agent: Agent, name: string): Agent => ({ ...agent, version: name });
const without = (agent: Agent): Agent => ({ ...agent, version: "2", tools: {} });

const say = (world: World, run: string, as: Answer["as"]) =>
  reconcile(world, { run, call: "c1", as, result: null, by: "ann", note: null });

/** Attempts leave until the run is parked; time passes only for the first one. */
async function untilParked(on: Stage, run: string, agent: Agent): Promise<void> {
  for (let tasks = 0; tasks < 20; tasks += 1) {
    await step(on, agent);
    if (rowOf(on, run).park !== null) return;
  }
  throw new Error("it is not parked after 20 tasks");
}

/** A run that looks now and then whether it has its tool again. */
async function bereft(on: Stage, { calls = 1 }: { readonly calls?: number } = {}) {
  const keys: string[] = [];
  const agent = actor({ run: ({ key }) => keys.push(key), reply: callsThenOver(calls) });
  const { run } = await begin(on.world, agent, {});
  const key = await dieInTool(on, agent);
  await untilParked(on, run, without(agent));
  expect(rowOf(on, run)).toMatchObject({ status: "blocked", phase: "AwaitingReconcile" });
  return { run, agent, key, keys };
}

/** A run that is pinned to version 1, after its first beat, when version 2 is deployed. */
async function pinned(on: Stage) {
  let runs = 0;
  const agent: Agent = { ...actor({ run: () => (runs += 1), reply: callsThenOver(2) }), upgrade: "pin" };
  const { run } = await begin(on.world, agent, {});
  await step(on, agent);
  await untilParked(on, run, version(agent, "2"));
  return { run, agent, runs: () => runs };
}

test("schedule 52: a process dies in a tool that the next version does not have; the call is not dropped", async () => {
  const on = chainedStage();
  const { run, agent, key, keys } = await bereft(on);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "unknown" }]);
  expect(await show(on.world, run)).toMatchObject({ waitsFor: { kind: "tools", tools: ["act"] } });
  // The next look finds it as it was.
  const { version: before } = rowOf(on, run);
  await untilParked(on, run, without(agent));
  expect(rowOf(on, run)).toMatchObject({ status: "blocked", version: before + 1 });
  await playOut(on, version(agent, "3"));
  expect([rowOf(on, run).status, keys]).toEqual(["completed", [key]]);
  // Nobody has to wait for that.
  const other = chainedStage();
  const answered = await bereft(other);
  expect(await say(other.world, answered.run, "succeeded")).toEqual({ kind: "accepted" });
  await playOut(other, without(answered.agent));
  expect([rowOf(other, answered.run).status, answered.keys]).toEqual(["completed", []]);
});

test("schedule 53: a pinned run meets a version that nobody accepted for it; nothing of it is called", async () => {
  const on = chainedStage();
  const { run, agent, runs } = await pinned(on);
  expect(rowOf(on, run)).toMatchObject({ status: "blocked", phase: "AwaitingAgent", agentVersion: "1" });
  expect(await show(on.world, run)).toMatchObject({ waitsFor: { kind: "upgrade", from: "1", to: "2" } });
  expect(await send(on.world, { run, text: "go on", by: "ann", id: "w1" })).toEqual({ kind: "delivered" });
  await untilParked(on, run, version(agent, "2"));
  expect([rowOf(on, run).phase, runs()]).toEqual(["AwaitingAgent", 1]);
  // The old version is deployed again: nobody has to say anything.
  await playOut(on, agent);
  expect([rowOf(on, run).status, runs()]).toEqual(["completed", 2]);
});

test("schedule 54: somebody accepts version 2 for a run, and it wakes under version 3; it waits again", async () => {
  const on = chainedStage();
  const { run, agent, runs } = await pinned(on);
  const accept = () => acceptUpgrade(on.world, { run, by: "ann" });
  expect(await accept()).toEqual({ kind: "accepted", from: "1", to: "2" });
  await untilParked(on, run, version(agent, "3"));
  expect([rowOf(on, run).phase, runs()]).toEqual(["AwaitingAgent", 1]);
  expect(await show(on.world, run)).toMatchObject({ waitsFor: { to: "3", accepted: false } });
  expect(await accept()).toEqual({ kind: "accepted", from: "1", to: "3" });
  await playOut(on, version(agent, "3"));
  expect([rowOf(on, run).status, runs()]).toEqual(["completed", 2]);
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "AgentChanged")).toMatchObject([{ from: "1", to: "3", by: "ann" }]);
});

test("schedule 55: a look finds the tool back; an answer is acknowledged before that is committed", async () => {
  const on = chainedStage();
  const { run, agent, keys } = await bereft(on);
  const act = async () => expect(await say(on.world, run, "succeeded")).toEqual({ kind: "accepted" });
  await step(on, agent, beforeCommit(on, { when: () => true, act }));
  await playOut(on, agent);
  expect([rowOf(on, run).status, keys]).toEqual(["completed", []]);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled" }]);
});

test("schedule 56: a person looks at a call whose tool is gone, it goes on, and then their answer is delivered", async () => {
  const on = chainedStage();
  const { run, agent, key, keys } = await bereft(on, { calls: 2 });
  on.clock.moveTo(on.clock.now() + on.world.limits.settleMs + on.world.limits.beatMs + on.world.limits.skewMs);
  const slow = frozenBefore(on.world, "deliver");
  const late = say(slow.world, run, "failed");
  await rest();
  await step(on, agent);
  expect([rowOf(on, run).status, keys]).toEqual(["running", [key]]);
  slow.thaw();
  expect(await late).toMatchObject({ kind: "stale" });
});

test("schedule 57: a run waits for code that never comes; its looks do not keep it from its end", async () => {
  const idleRunMs = 26 * 3_600_000;
  const on = chainedStage({ idleRunMs });
  const { run, agent } = await pinned(on);
  const { deadline, lastCheckpointAt } = rowOf(on, run);
  expect(deadline).toBe(lastCheckpointAt + idleRunMs);
  let tasks = 0;
  for (; rowOf(on, run).status === "blocked" && tasks < 150; tasks += 1) await step(on, version(agent, "2"));
  expect((await show(on.world, run))?.failure).toMatchObject({ code: "Expired" });
  expect(on.clock.now()).toBeLessThanOrEqual(deadline);
  // It looked again soon at first, and then once an hour.
  expect(tasks).toBeGreaterThan(2 * 26);
});

test("schedule 58: a call was released as keyed, its process dies, and its tool is unsafe now; it is not repeated", async () => {
  for (const [then, now] of [
    ["keyed", "unsafe"],
    ["unsafe", "keyed"],
    ["none", "unsafe"],
  ] as const) {
    const on = chainedStage();
    let runs = 0;
    const agentOf = (effect: typeof then | typeof now): Agent => actor({ effect, run: () => (runs += 1) });
    const { run } = await begin(on.world, agentOf(then), {});
    await dieInTool(on, agentOf(then));
    await untilParked(on, run, version(agentOf(now), "2"));
    expect([rowOf(on, run).status, runs]).toEqual(["blocked", 0]);
    expect((await show(on.world, run))?.waitsFor).toBeNull();
  }
});
