/** Calls that wait for an answer, an event or a time: what the wait must hold against deaths, limits and each other. */
import { expect, test } from "vitest";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { show, timeline } from "../../src/operations/views.ts";
import { LIMIT_MS, answerCall, callsOnce, signalEvent, waitingAgent } from "../support/agents/waiting-agent.ts";
import { stateOf } from "../support/agents/approval-agent.ts";
import { beforeCall, crashAfterCall, freezeBeforeCall, startKeyedRun } from "../support/harness/chain-steps.ts";
import { type Harness, createChainHarness } from "../support/harness/harness.ts";
import type { Agent } from "../../src/ports/agent.ts";

async function runUntilWait(agent: Agent): Promise<{ readonly harness: Harness; readonly run: string }> {
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  await harness.runUntilIdle(agent);
  return { harness, run };
}

const kindsOf = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await timeline(world, { run, after: 0 })) ?? []).map(({ kind }) => kind);

const resultOf = async ({ world }: Harness, run: string) => (await show(world, run))?.result;

test("schedule 157: a timer wakes a run, and an answer is acknowledged before the end of the wait commits; the answer counts", async () => {
  const agent = waitingAgent({ reply: callsOnce("askFor") });
  const { harness, run } = await runUntilWait(agent);
  harness.clock.moveTo(harness.clock.now() + LIMIT_MS);
  const late: string[] = [];
  const world = beforeCall(harness.world, "commit", async () => {
    late.push((await answerCall(harness.world, run, { result: { yes: true } })).kind);
  });
  await harness.runAttempt(agent, world);
  await harness.runUntilIdle(agent);
  expect(late).toEqual(["accepted"]);
  expect(await resultOf(harness, run)).toEqual([{ tool: "askFor", outcome: "succeeded", result: { yes: true } }]);
});

test("schedule 158: the limit ends the wait between a human's look and their answer; they learn that it has no effect", async () => {
  const agent = waitingAgent({ reply: callsOnce("askFor", "ask") });
  const { harness, run } = await runUntilWait(agent);
  const world = beforeCall(harness.world, "deliver", async () => {
    harness.clock.moveTo(harness.clock.now() + LIMIT_MS);
    await harness.runUntilIdle(agent);
  });
  expect(await answerCall(world, run, { result: { yes: true } })).toMatchObject({ kind: "noEffect" });
  await harness.runUntilIdle(agent);
  expect(await kindsOf(harness, run)).toContain("InputIgnored");
  await answerCall(harness.world, run, { call: "c2", result: { yes: false } });
  await harness.runUntilIdle(agent);
  expect(await resultOf(harness, run)).toEqual([
    { tool: "askFor", outcome: "failed", result: expect.stringMatching(/^NoAnswer: no answer came by 20/) },
    { tool: "ask", outcome: "succeeded", result: { yes: false } },
  ]);
});

test("schedule 159: an answer comes while the beat that asks still runs another call; the run does not park over it", async () => {
  const sent: string[] = [];
  let harness: Harness | null = null;
  let run = "";
  const agent = waitingAgent({
    reply: callsOnce("ask", "look"),
    run: async () => {
      if (harness !== null) sent.push((await answerCall(harness.world, run, { result: { yes: true } })).kind);
      return "seen";
    },
  });
  harness = createChainHarness();
  ({ run } = await startKeyedRun(harness.world, { agent, key: "k" }));
  await harness.runUntilIdle(agent);
  expect(sent).toEqual(["accepted"]);
  expect(harness.row(run).status).toBe("completed");
  expect(await resultOf(harness, run)).toMatchObject([{ tool: "look" }, { tool: "ask", result: { yes: true } }]);
});

test("schedule 160: an event comes before its wait begins, and each process that takes it dies; the wait finds it once", async () => {
  const agent = waitingAgent({ reply: callsOnce("paid", "ask") });
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  expect(await signalEvent(harness.world, run)).toEqual({ kind: "accepted", call: null });
  expect(await signalEvent(harness.world, run)).toEqual({ kind: "duplicate" });
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "unread"));
  await harness.loseAttempt(agent, crashAfterCall(harness.world, "clear"));
  await harness.runUntilIdle(agent);
  expect(await stateOf(harness.world, run)).toMatchObject({ signals: [], open: [{ call: "c2" }] });
  await answerCall(harness.world, run, { call: "c2", result: { yes: true } });
  await harness.runUntilIdle(agent);
  expect(await resultOf(harness, run)).toMatchObject([
    { tool: "paid", outcome: "succeeded", result: { event: "paid", detail: { euros: 5 } } },
    { tool: "ask" },
  ]);
});

test("schedule 161: two operators answer one question; the first answer counts, and the second operator is told it", async () => {
  const agent = waitingAgent();
  const { harness, run } = await runUntilWait(agent);
  const second: unknown[] = [];
  const world = beforeCall(harness.world, "deliver", async () => {
    await answerCall(harness.world, run, { result: { yes: true }, by: "ann" });
  });
  second.push(await answerCall(world, run, { result: { yes: false }, by: "bob" }));
  await harness.runUntilIdle(agent);
  second.push(await answerCall(harness.world, run, { result: { yes: false }, by: "bob" }));
  const first = { kind: "duplicate", answer: { result: { yes: true }, by: "ann" } };
  expect(second).toEqual([first, first]);
  expect(await resultOf(harness, run)).toMatchObject([{ result: { yes: true } }]);
});

test("schedule 162: a process takes an answer and dies before its commit; the next one takes it", async () => {
  const agent = waitingAgent();
  const { harness, run } = await runUntilWait(agent);
  await answerCall(harness.world, run, { result: { yes: true } });
  await harness.loseAttempt(agent, freezeBeforeCall(harness.world, "commit").world);
  await harness.runUntilIdle(agent);
  const taken = (await kindsOf(harness, run)).filter((kind) => kind === "ToolResultRecorded");
  expect(taken).toHaveLength(1);
  expect(await resultOf(harness, run)).toMatchObject([{ result: { yes: true } }]);
});

test("schedule 163: a run is cancelled while it waits, after an answer and before a beat takes it; nothing goes on, and the answer is recorded as ignored", async () => {
  const agent = waitingAgent({ reply: callsOnce("ask", "paid") });
  const { harness, run } = await runUntilWait(agent);
  expect(await answerCall(harness.world, run, { result: { yes: true } })).toMatchObject({ kind: "accepted" });
  await sendRequest(harness.world, { run, want: "cancel" });
  expect(await answerCall(harness.world, run, { result: { yes: true } })).toMatchObject({ kind: "stale" });
  expect(await signalEvent(harness.world, run)).toMatchObject({ kind: "refused" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("cancelled");
  const kinds = await kindsOf(harness, run);
  expect(kinds.filter((kind) => kind === "ModelCallCompleted")).toHaveLength(1);
  expect(kinds).toContain("InputIgnored");
});
