/** Runs of asynchronous models: what the provider is asked for, what the run records, and what it costs. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { show, timeline, transcript } from "../../../src/operations/views.ts";
import { ReplyLost } from "../../../src/providers/detached-calls.ts";
import { everyFaultPoint, runAgent } from "../../../src/testing/kit/index.ts";
import { signalEvent } from "../../support/agents/waiting-agent.ts";
import { asynchronousAgent } from "../../support/agents/asynchronous-agent.ts";
import { createChainHarness, neverSettles, scriptedAgent, beatReply } from "../../support/harness/harness.ts";
import { send } from "../../../src/operations/steer.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { sampled } from "../../support/gate/stride.ts";

/** The agent with other requests to its provider. */
function withRequests({ agent, model }: ReturnType<typeof asynchronousAgent>, change: Partial<typeof model.detached>) {
  return { ...agent, model: Object.assign({}, model, { detached: { ...model.detached, ...change } }) };
}

/** The run after the beat that started its first job. */
async function waitingRun(of: Parameters<typeof asynchronousAgent>[0] = {}, change: Partial<Agent> = {}) {
  const harness = createChainHarness();
  const { agent, model } = asynchronousAgent(of, change);
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  const reply = await beatReply(harness.runAttempt(agent));
  return { harness, agent, model, run, reply };
}

const kindsOf = async ({ world }: Awaited<ReturnType<typeof waitingRun>>["harness"], run: string) =>
  ((await timeline(world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

const COST = { tokensIn: 100, tokensOut: 10, microUsd: 200 };

test("a run waits for each job without a process, and pays what its replies cost", async () => {
  const { harness, agent, model, run, reply } = await waitingRun({ pending: 5 });
  expect(reply).toMatchObject({ route: "wait", seconds: 5 });
  expect(harness.row(run)).toMatchObject({
    owner: null,
    phase: "AwaitingLLM",
    unaccountedModelCalls: 0,
    marksAtClaim: 0,
  });
  expect(harness.row(run).spent).toMatchObject({ tokensIn: 0, microUsd: 0, beats: 0 });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0 });
  expect(harness.row(run).spent).toMatchObject({ ...COST, beats: 2 });
  expect(model.started()).toMatchObject([
    { state: "done", polls: 6 },
    { state: "done", polls: 6 },
  ]);
});

test("the looks at a job become rarer, and a look without news commits no event", async () => {
  const { harness, agent, run } = await waitingRun({ pending: 30 });
  const startedAt = harness.clock.now();
  const waits: number[] = [];
  const before = await kindsOf(harness, run);
  for (let looks = 0; looks < 30; looks += 1) {
    const { route, seconds } = await beatReply(harness.runAttempt(agent));
    expect(route === "park" ? seconds > 60 : seconds <= 60).toBe(true);
    waits.push(seconds);
    harness.clock.moveTo(startedAt + waits.reduce((sum, each) => sum + each * 1_000, 5_000));
    if (route === "park") break;
  }
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(await kindsOf(harness, run)).toEqual(before);
});

describe("a process that dies", () => {
  test.each(sampled(["none"] as const, ["find", "key", "none"] as const))(
    "at any moment changes nothing, with a provider that knows lost starts by %s",
    async (lostStart) => {
      const { agent } = asynchronousAgent({ lostStart, pending: 2 });
      const { points, uninterrupted } = await everyFaultPoint(agent, { input: {} });
      expect(uninterrupted.status).toBe("completed");
      expect(points).toContain("after:model#1");
    },
  );

  test.each([
    ["find", 2, COST],
    ["key", 2, COST],
    // The first job is paid for although its reply is never read: it is debited at its estimate.
    ["none", 3, { tokensIn: 108, tokensOut: 510, microUsd: 5_208 }],
  ] as const)(
    "after its request was accepted, with a provider that knows lost starts by %s: %i jobs",
    async (lostStart, detached, spent) => {
      const { agent, model } = asynchronousAgent({ lostStart });
      const run = await runAgent(agent, { input: {}, killAt: "after:model#1" });
      expect(run.killed).toHaveLength(1);
      expect(model.started()).toHaveLength(detached);
      const { tokensIn, tokensOut } = run.spent;
      expect({ tokensIn, tokensOut, microUsd: Math.round(run.spent.usd * 1_000_000) }).toEqual(spent);
    },
  );
});

test.each([
  ["cancel", "cancelled"],
  ["pause", "paused"],
] as const)("a %s cancels the job at its provider, and debits its estimate once", async (want, status) => {
  const { harness, agent, model, run } = await waitingRun({ pending: 3 });
  await sendRequest(harness.world, { run, want });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status, unaccountedModelCalls: 0 });
  expect(harness.row(run).spent).toMatchObject({ tokensOut: 500, beats: 0 });
  expect(model.started()).toMatchObject([{ state: "cancelled", polls: 0 }]);
});

test("a paused run asks its model again by another job", async () => {
  const { harness, agent, model, run } = await waitingRun();
  await sendRequest(harness.world, { run, want: "pause" });
  await harness.runUntilIdle(agent);
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(model.started().map(({ state }) => state)).toEqual(["cancelled", "done", "done"]);
});

test("a view says which job the run waits for, since when, and when it looks again", async () => {
  const { harness, run } = await waitingRun();
  const now = harness.clock.now();
  const shown = await show(harness.world, run);
  expect(shown).toMatchObject({
    label: "waiting for model job job-1",
    detachedCall: { model: "scripted:slow", reference: "job-1", since: now, nextLookAt: now + 5_000 },
  });
});

test("the transcript has the same messages as with a model that replies at once", async () => {
  const { harness, agent, run } = await waitingRun();
  await harness.runUntilIdle(agent);
  expect((await transcript(harness.world, run))?.map(({ source }) => source)).toEqual([
    ...["task", "model:scripted:slow", "tool:look", "model:scripted:slow"],
  ]);
});

test("a deadline ends the run, and cancels its job first", async () => {
  const deadline = { afterMs: 60_000, withinMs: 60_000, onExpiry: "leave" } as const;
  const { harness, agent, model, run } = await waitingRun({ pending: 1_000 }, { deadline });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "failed", spent: { tokensOut: 500 } });
  expect(model.started()).toMatchObject([{ state: "cancelled" }]);
});

test.each([
  ["message", (world: World, run: string) => send(world, { run, text: "Hurry.", by: "ada", id: "u1" })],
  // As a webhook of the provider would, by a callback. No call of the run waits for the event.
  ["signal", (world: World, run: string) => signalEvent(world, run, { event: "response.completed" })],
] as const)("a %s wakes the run before its next look, and it looks at once", async (_, wake) => {
  const { harness, agent, model, run } = await waitingRun({ pending: 40 });
  for (let looks = 0; looks < 20; looks += 1) if ((await beatReply(harness.runAttempt(agent))).route === "park") break;
  const { polls } = model.started()[0] ?? { polls: 0 };
  await harness.runAttempt(agent);
  const now = harness.clock.now();
  expect(harness.row(run).park).not.toBeNull();
  await wake(harness.world, run);
  await harness.runAttempt(agent);
  expect(harness.clock.now()).toBe(now);
  expect(model.started()).toMatchObject([{ polls: polls + 1 }]);
});

test("a job that failed for good ends the run as any failed call does", async () => {
  const { harness, agent, model, run } = await waitingRun();
  const [first] = model.started();
  await model.detached.cancel?.({ prompt: [] }, first?.reference ?? "");
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "failed" });
  expect(await kindsOf(harness, run)).toContain("DetachedCallEnded");
});

test("a job whose reply is lost at its provider is debited at its estimate, once, and started again", async () => {
  const asynchronous = asynchronousAgent();
  const { detached } = asynchronous.model;
  let polls = 0;
  const poll: typeof detached.poll = async (...asked) => {
    polls += 1;
    return polls === 1
      ? { kind: "failed", error: new ReplyLost(new TypeError("fetch failed")) }
      : detached.poll(...asked);
  };
  const run = await runAgent(withRequests(asynchronous, { poll }), { input: {} });
  expect(run.status).toBe("completed");
  expect(run.spent.tokensOut).toBe(510);
});

test("an agent that has lost its asynchronous model gives the job up, and goes on with the model that it has", async () => {
  const { harness, agent, run } = await waitingRun();
  const { model } = scriptedAgent({ reply: () => ({ text: "over", tokensIn: 7, tokensOut: 1 }) });
  await harness.runUntilIdle({ ...agent, model });
  expect(harness.row(run)).toMatchObject({
    status: "completed",
    unaccountedModelCalls: 0,
    spent: { tokensOut: 501 },
  });
});

test("a job without a reply for 26 hours is given up, also if its provider refuses to cancel it", async () => {
  const cancel = (): Promise<never> => Promise.reject(new Error("404: there is no such job"));
  const asynchronous = asynchronousAgent({ pending: 10_000 });
  const refusing = withRequests(asynchronous, { cancel });
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent: refusing, key: "a" });
  await harness.runAttempt(refusing);
  harness.clock.moveTo(harness.clock.now() + 27 * 3_600_000);
  await harness.runAttempt(refusing);
  expect(await kindsOf(harness, run)).toContain("DetachedCallEnded");
  expect(harness.row(run)).toMatchObject({ deaths: 0, spent: { tokensOut: 500 } });
  expect(asynchronous.model.started()[0]).toMatchObject({ state: "working" });
});

test("a job whose start was lost, and that its provider does not have, is dropped without the end of the process", async () => {
  const submit = (): Promise<never> => Promise.reject(new Error("the connection broke"));
  const losing = withRequests(asynchronousAgent(), { submit });
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent: losing, key: "a" });
  await harness.runAttempt(losing);
  await sendRequest(harness.world, { run, want: "cancel" });
  expect(await harness.runAttempt(losing)).toMatchObject({ kind: "beat" });
  expect(harness.row(run)).toMatchObject({ status: "cancelled", spent: { tokensOut: 500 } });
});

test("a start without a usable reference is looked up, and no commit fails", async () => {
  const asynchronous = asynchronousAgent({ lostStart: "none" });
  const { model } = asynchronous;
  const submit: typeof model.detached.submit = async (...asked) => {
    await model.detached.submit(...asked);
    return model.started().length === 1 ? "" : `job-${model.started().length}`;
  };
  const run = await runAgent(withRequests(asynchronous, { submit }), { input: {} });
  expect(run.status).toBe("completed");
  // The first job has no reply that can be read, and is debited once.
  expect(run.spent.tokensOut).toBe(510);
});

/** The agent with a fallback that answers at once. */
function withFallback(agent: Agent, reply: () => { readonly text: string } | Promise<never>): Agent {
  const { model } = scriptedAgent({ reply });
  return { ...agent, fallbacks: [{ model, price: { inUsd: 1, outUsd: 10 }, priceFrom: { kind: "none" } }] };
}

test("a call that follows a lost job is debited too if its process dies", async () => {
  const submit = (): Promise<never> => Promise.reject(new Error("the connection broke"));
  const losing = withRequests(asynchronousAgent({ lostStart: "none" }), { submit });
  const harness = createChainHarness({ beatsPerInvocation: 4 });
  const { run } = await startKeyedRun(harness.world, { agent: losing, key: "a" });
  for (let starts = 0; starts < 3; starts += 1) await harness.runAttempt(losing);
  expect(harness.row(run).spent.tokensOut).toBe(3 * 500);
  await harness.loseAttempt(withFallback(losing, neverSettles), harness.world);
  await harness.runUntilIdle(withFallback(losing, () => ({ text: "over" })));
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 1 });
  const kinds = await kindsOf(harness, run);
  expect(kinds.filter((kind) => kind === "DetachedCallBegun")).toHaveLength(4);
  // The four jobs, and the call of the dead process.
  expect(kinds.filter((kind) => kind === "ModelCallLost")).toHaveLength(5);
});
