/** What is deployed changes under a run: nothing that was begun is dropped, and nothing is called that nobody wanted. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import type { Answer } from "../../src/core/event.ts";
import type { World } from "../../src/ports/world.ts";
import { ledger, show, timeline } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import { acceptUpgrade } from "../../src/operations/upgrade.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  flushPromises,
} from "../support/harness/harness.ts";
import { dieInTool, freezeBeforeCall, beforeCall } from "../support/harness/chain-steps.ts";

const version = (agent: Agent, name: string): Agent => ({ ...agent, version: name });
const without = (agent: Agent): Agent => ({ ...agent, version: "2", tools: {} });

const reconcileAs = (world: World, run: string, as: Answer["as"]) =>
  reconcile(world, { run, call: "c1", as, result: null, by: "ann", note: null });

/** Attempts leave until the run is parked; time passes only for the first one. */
async function untilParked(harness: Harness, run: string, agent: Agent): Promise<void> {
  for (let tasks = 0; tasks < 20; tasks += 1) {
    await harness.runAttempt(agent);
    if (harness.row(run).park !== null) return;
  }
  throw new Error("it is not parked after 20 tasks");
}

/** A run that looks now and then whether it has its tool again. */
async function runWithoutItsVersion(harness: Harness, { calls = 1 }: { readonly calls?: number } = {}) {
  const keys: string[] = [];
  const agent = scriptedAgent({ run: ({ key }) => keys.push(key), reply: callsThenFinal(calls) });
  const { run } = await beginRun(harness.world, agent, {});
  const key = await dieInTool(harness, agent);
  await untilParked(harness, run, without(agent));
  expect(harness.row(run)).toMatchObject({ status: "blocked", phase: "AwaitingReconcile" });
  return { run, agent, key, keys };
}

/** A run that is pinned to version 1, after its first beat, when version 2 is deployed. */
async function pinned(harness: Harness) {
  let runs = 0;
  const agent: Agent = { ...scriptedAgent({ run: () => (runs += 1), reply: callsThenFinal(2) }), upgrade: "pin" };
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runAttempt(agent);
  await untilParked(harness, run, version(agent, "2"));
  return { run, agent, runs: () => runs };
}

test("schedule 52: a process dies in a tool that the next version does not have; the call is not dropped", async () => {
  const harness = createChainHarness();
  const { run, agent, key, keys } = await runWithoutItsVersion(harness);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "unknown" }]);
  expect(await show(harness.world, run)).toMatchObject({ waitsFor: { kind: "tools", tools: ["act"] } });
  // The next look finds it as it was.
  const { version: before } = harness.row(run);
  await untilParked(harness, run, without(agent));
  expect(harness.row(run)).toMatchObject({ status: "blocked", version: before + 1 });
  await harness.runUntilIdle(version(agent, "3"));
  expect({ status: harness.row(run).status, keys }).toEqual({ status: "completed", keys: [key] });
  // Nobody has to wait for that.
  const other = createChainHarness();
  const answered = await runWithoutItsVersion(other);
  expect(await reconcileAs(other.world, answered.run, "succeeded")).toEqual({ kind: "accepted" });
  await other.runUntilIdle(without(answered.agent));
  expect({ status: other.row(answered.run).status, keys: answered.keys }).toEqual({ status: "completed", keys: [] });
});

test("schedule 53: a pinned run meets a version that no operator accepted; it calls no tool of it", async () => {
  const harness = createChainHarness();
  const { run, agent, runs } = await pinned(harness);
  expect(harness.row(run)).toMatchObject({ status: "blocked", phase: "AwaitingAgent", agentVersion: "1" });
  expect(await show(harness.world, run)).toMatchObject({ waitsFor: { kind: "upgrade", from: "1", to: "2" } });
  expect(await send(harness.world, { run, text: "go on", by: "ann", id: "w1" })).toEqual({ kind: "delivered" });
  await untilParked(harness, run, version(agent, "2"));
  expect({ phase: harness.row(run).phase, runs: runs() }).toEqual({ phase: "AwaitingAgent", runs: 1 });
  // The old version is deployed again: nobody has to say anything.
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, runs: runs() }).toEqual({ status: "completed", runs: 2 });
});

test("schedule 54: an operator accepts version 2 for a run, and it wakes under version 3; it waits again", async () => {
  const harness = createChainHarness();
  const { run, agent, runs } = await pinned(harness);
  const accept = () => acceptUpgrade(harness.world, { run, by: "ann" });
  expect(await accept()).toEqual({ kind: "accepted", from: "1", to: "2" });
  await untilParked(harness, run, version(agent, "3"));
  expect({ phase: harness.row(run).phase, runs: runs() }).toEqual({ phase: "AwaitingAgent", runs: 1 });
  expect(await show(harness.world, run)).toMatchObject({ waitsFor: { to: "3", accepted: false } });
  expect(await accept()).toEqual({ kind: "accepted", from: "1", to: "3" });
  await harness.runUntilIdle(version(agent, "3"));
  expect({ status: harness.row(run).status, runs: runs() }).toEqual({ status: "completed", runs: 2 });
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "AgentChanged")).toMatchObject([{ from: "1", to: "3", by: "ann" }]);
});

test("schedule 55: a poll finds the tool back; an answer is acknowledged before that is committed", async () => {
  const harness = createChainHarness();
  const { run, agent, keys } = await runWithoutItsVersion(harness);
  const act = async () => expect(await reconcileAs(harness.world, run, "succeeded")).toEqual({ kind: "accepted" });
  await harness.runAttempt(agent, beforeCall(harness.world, "commit", act));
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, keys }).toEqual({ status: "completed", keys: [] });
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled" }]);
});

test("schedule 56: an operator reads a call whose tool is missing, it continues, and then the answer is delivered", async () => {
  const harness = createChainHarness();
  const { run, agent, key, keys } = await runWithoutItsVersion(harness, { calls: 2 });
  harness.clock.moveTo(
    harness.clock.now() + harness.world.limits.settleMs + harness.world.limits.beatMs + harness.world.limits.skewMs,
  );
  const slow = freezeBeforeCall(harness.world, "deliver");
  const late = reconcileAs(slow.world, run, "failed");
  await flushPromises();
  await harness.runAttempt(agent);
  expect({ status: harness.row(run).status, keys }).toEqual({ status: "running", keys: [key] });
  slow.thaw();
  expect(await late).toMatchObject({ kind: "stale" });
});

test("schedule 57: a run waits for code that never arrives; its polls do not delay its deadline", async () => {
  const idleRunMs = 26 * 3_600_000;
  const harness = createChainHarness({ idleRunMs });
  const { run, agent } = await pinned(harness);
  const { deadline, lastCheckpointAt } = harness.row(run);
  expect(deadline).toBe(lastCheckpointAt + idleRunMs);
  let tasks = 0;
  for (; harness.row(run).status === "blocked" && tasks < 150; tasks += 1)
    await harness.runAttempt(version(agent, "2"));
  expect((await show(harness.world, run))?.failure).toMatchObject({ code: "Expired" });
  expect(harness.clock.now()).toBeLessThanOrEqual(deadline);
  // It looked again soon at first, and then once an hour.
  expect(tasks).toBeGreaterThan(2 * 26);
});

test("schedule 58: a call was released as keyed, its process dies, and its tool is unsafe now; it is not repeated", async () => {
  for (const [then, now] of [
    ["keyed", "unsafe"],
    ["unsafe", "keyed"],
    ["none", "unsafe"],
  ] as const) {
    const harness = createChainHarness();
    let runs = 0;
    const agentOf = (effect: typeof then | typeof now): Agent => scriptedAgent({ effect, run: () => (runs += 1) });
    const { run } = await beginRun(harness.world, agentOf(then), {});
    await dieInTool(harness, agentOf(then));
    await untilParked(harness, run, version(agentOf(now), "2"));
    expect({ status: harness.row(run).status, runs }).toEqual({ status: "blocked", runs: 0 });
    expect((await show(harness.world, run))?.waitsFor).toBeNull();
  }
});
