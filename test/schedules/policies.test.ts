/** What follows when nobody knows whether a call happened, and which call goes first. */
import { expect, test } from "vitest";
import type { Agent, Tool } from "../../src/ports/agent.ts";
import { type Conversation, OutcomeUnknown, type ScriptedReply } from "../../src/index.ts";
import { ledger } from "../../src/operations/views.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type ScriptedAgentOptions,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  flushPromises,
} from "../support/harness/harness.ts";
import { dieInTool, enterTool, freezeBeforeCall, recoveryRulesOf, beforeCall } from "../support/harness/chain-steps.ts";

const CALL = { tool: "act", args: {} } as const;

function unsafe(part: ScriptedAgentOptions, rules: Partial<Pick<Tool, "onUnknown" | "parallel">>): Agent {
  const agent = scriptedAgent({ effect: "unsafe", ...part });
  return { ...agent, tools: { act: { ...agent.tools["act"], ...rules } as Tool } };
}

/** Attempts leave as long as one may without the passing of time. */
async function untilItWaits(harness: Harness, agent: Agent): Promise<void> {
  while ((harness.world.chain.next() ?? Infinity) <= harness.clock.now()) await harness.runAttempt(agent);
}

const reconcileAs = (harness: Harness, run: string, world = harness.world as Parameters<typeof reconcile>[0]) =>
  reconcile(world, { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null });

/** A run whose model is told, unless somebody says before what became of its call; the call cannot tell. */
async function lost(harness: Harness) {
  let runs = 0;
  const act = (): string => {
    runs += 1;
    if (runs === 1) throw new OutcomeUnknown("the answer was lost");
    return "done";
  };
  const agent = unsafe({ run: act, reply: callsThenFinal(2) }, { onUnknown: "tell" });
  const payload = await beginRun(harness.world, agent, {});
  await untilItWaits(harness, agent);
  expect(harness.row(payload.run).status).toBe("blocked");
  return { agent, run: payload.run };
}

test("schedule 59: the owner of a call is frozen; the model gets that, checks, finds nothing and repeats it; it thaws", async () => {
  const harness = createChainHarness();
  const effects: string[] = [];
  const reply = ({ calls }: Conversation): ScriptedReply => {
    const isMissing = calls.at(-1)?.outcome === "unknown" && effects.length === 0;
    return calls.length === 0 || isMissing ? { calls: [CALL] } : FINAL_REPLY;
  };
  const agent = unsafe({ run: ({ key }) => effects.push(key), reply }, { onUnknown: "tell" });
  const { run } = await beginRun(harness.world, agent, {});
  const frozen = await enterTool(harness, agent);
  frozen.out.end(null);
  await untilItWaits(harness, agent);
  // It thaws inside its lease, and what it sends lands.
  effects.push(frozen.key);
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, effects }).toEqual({ status: "completed", effects: [frozen.key] });
  expect(await recoveryRulesOf(harness.world, run)).toContain("outcome stays unknown, the model is told");
});

test("schedule 60: a call is given up while an answer about it is acknowledged, and another one is too late", async () => {
  const harness = createChainHarness();
  const { run, agent } = await lost(harness);
  const act = async () => expect(await reconcileAs(harness, run)).toEqual({ kind: "accepted" });
  await harness.runAttempt(agent, beforeCall(harness.world, "commit", act));
  await harness.runUntilIdle(agent);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled" }, { status: "succeeded" }]);
  // Whoever looked before and answers after it is told that nobody will hear it.
  const other = createChainHarness();
  const late = await lost(other);
  const slow = freezeBeforeCall(other.world, "deliver");
  const said = reconcileAs(other, late.run, slow.world);
  await flushPromises();
  await other.runAttempt(late.agent);
  expect(other.row(late.run).status).toBe("running");
  slow.thaw();
  expect(await said).toMatchObject({ kind: "stale" });
});

test("schedule 268: a run is cancelled with a compensation while an answer about a call is on its way; the answer is too late", async () => {
  for (const isDecided of [true, false]) {
    const harness = createChainHarness();
    const { run, agent } = await lost(harness);
    const slow = freezeBeforeCall(harness.world, "deliver");
    const said = reconcileAs(harness, run, slow.world);
    await flushPromises();
    await requestCompensation(harness.world, { run, next: "cancel", by: "bob" });
    if (isDecided) await harness.runAttempt(agent);
    slow.thaw();
    expect((await said).kind).not.toBe("accepted");
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("cancelled");
    // A beat that meets both applies the answer first (schedule 265), but another one may have read its inbox before.
    expect(await ledger(harness.world, run)).toMatchObject([{ status: isDecided ? "unknown" : "reconciled" }]);
  }
});

test("schedule 61: the first of two lone calls dies; the second waits for its outcome", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  const reply = ({ calls }: Conversation): ScriptedReply =>
    calls.length === 0 ? { calls: [CALL, CALL] } : FINAL_REPLY;
  const agent = unsafe({ run: ({ key }) => keys.push(key), reply }, { parallel: false });
  const { run } = await beginRun(harness.world, agent, {});
  const first = await dieInTool(harness, agent);
  await untilItWaits(harness, agent);
  expect({ status: harness.row(run).status, phase: harness.row(run).phase, keys }).toEqual({
    status: "blocked",
    phase: "AwaitingReconcile",
    keys: [],
  });
  expect(await reconcileAs(harness, run)).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(keys).toHaveLength(1);
  expect(keys).not.toContain(first);
});

test("schedule 74: a keyed call takes effect and its process dies; the next try cannot reach the external service", async () => {
  const harness = createChainHarness();
  const run = (): never => {
    throw new Error("the connection is refused");
  };
  const agent = scriptedAgent({ effect: "keyed", run });
  const { run: id } = await beginRun(harness.world, agent, {});
  const landed = await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  // Its model is told that nobody knows: told that it failed, it would do it once more under another key.
  expect(await ledger(harness.world, id)).toMatchObject([{ key: landed, status: "unknown" }]);
  expect(harness.row(id).status).toBe("completed");
});
