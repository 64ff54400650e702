/** Budgets in the runner: what is counted, when a person is asked for more, and what their answer does. */
import { describe, expect, test } from "vitest";
import type { Conversation, ScriptedReply } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { gatesOf, stateOf } from "../../support/agents/approval-agent.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { budgetRequestsOf, grantBudget, withBudget } from "../../support/agents/budget-gates.ts";
import {
  FINAL_REPLY,
  scriptedAgent,
  callsThenFinal,
  neverSettles,
  createHarness,
  type Harness,
  type ScriptedAgentOptions,
} from "../../support/harness/harness.ts";
import type { BudgetOptions } from "../../../src/sdk/budget.ts";

/** Drives the run until it waits or ends. */
async function runUntilBudgetGate(
  harness: Harness,
  of: { readonly part: ScriptedAgentOptions; readonly budget: BudgetOptions },
) {
  const agent = withBudget(scriptedAgent(of.part), { onExhausted: "ask", ...of.budget });
  const runner = runnerOf(harness.world, agent);
  const payload = await drive(runner, await beginRun(harness.world, agent, {}));
  return { agent, runner, payload, run: payload.run };
}

const HOURS_24 = 24 * 3_600_000;
const twoCalls = ({ calls }: Conversation): ScriptedReply =>
  calls.length === 0
    ? {
        calls: [
          { tool: "act", args: {} },
          { tool: "act", args: {} },
        ],
      }
    : FINAL_REPLY;

describe("tool calls", () => {
  test("are not released beyond their limit; a run at the limit may still make a closing reply", async () => {
    const harness = createHarness();
    const part = { reply: callsThenFinal(2) };
    const done = await runUntilBudgetGate(harness, { part, budget: { toolCalls: 2, onExhausted: "stop" } });
    expect(harness.row(done.run)).toMatchObject({ status: "completed", spent: { toolCalls: 2 } });
    const less = await runUntilBudgetGate(harness, { part, budget: { toolCalls: 1, onExhausted: "stop" } });
    expect(harness.row(less.run)).toMatchObject({ status: "failed", spent: { toolCalls: 1 } });
    expect((await show(harness.world, less.run))?.failure).toMatchObject({
      code: "BudgetExhausted",
      message: expect.stringMatching(/^1 of 1 tool calls are used/),
    });
  });

  test("of one reply are all released or none", async () => {
    const harness = createHarness();
    const ran: string[] = [];
    const part = { reply: twoCalls, run: ({ key }: { readonly key: string }) => ran.push(key) };
    const { run, runner, payload } = await runUntilBudgetGate(harness, { part, budget: { toolCalls: 1 } });
    expect({ ran, phase: harness.row(run).phase }).toEqual({ ran: [], phase: "AwaitingApproval" });
    expect(await grantBudget(harness.world, { run, more: { toolCalls: 1 } })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(new Set(ran).size).toBe(2);
    expect(harness.row(run).spent.toolCalls).toBe(2);
  });
});

describe("an exhausted budget", () => {
  const part = { reply: callsThenFinal(3) };

  test("opens a gate for a day that shows the amount spent and is listed with other gates", async () => {
    const harness = createHarness();
    const { run, payload } = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    expect(payload).toMatchObject({ route: "park", seconds: HOURS_24 / 1_000 });
    expect(harness.row(run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval", spent: { beats: 2 } });
    const gate = await budgetRequestsOf(harness.world, run);
    expect(gate).toMatchObject({ reason: "2 of 2 beats are used", tool: "budget", decided: false });
    expect(gate).toMatchObject({ args: { limits: { beats: 2, tokens: null }, spent: { beats: 2 } } });
    expect(harness.row(run).wakeAt).toBe(gate?.expiresAt);
  });

  test("is extended by a grant, and opens a gate again when that is spent", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    const first = (await budgetRequestsOf(harness.world, run))?.gate;
    expect(await grantBudget(harness.world, { run, more: { beats: 1, microUsd: 5 } })).toMatchObject({
      kind: "accepted",
    });
    const again = await drive(runner, payload);
    expect(harness.row(run)).toMatchObject({ status: "waiting", spent: { beats: 3 } });
    expect((await budgetRequestsOf(harness.world, run))?.gate).not.toBe(first);
    expect(await grantBudget(harness.world, { run, more: { beats: 10 } })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, again)).toMatchObject({ route: "done" });
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", beats: 4 });
    expect(await show(harness.world, run)).toMatchObject({ granted: { beats: 11, microUsd: 5 }, gates: [] });
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "HumanApprovalReceived")).toMatchObject([
      { call: "budget", decision: { by: "ann", note: "it is worth it", more: { beats: 1, microUsd: 5 } } },
      { call: "budget", decision: { more: { beats: 10 } } },
    ]);
    expect((await ledger(harness.world, run))?.map(({ call }) => call)).toEqual(["c1", "c2", "c3"]);
  });

  test("ends the run when it is denied, or when the gate expires", async () => {
    const harness = createHarness();
    const denied = await runUntilBudgetGate(harness, { part, budget: { beats: 1 } });
    await grantBudget(harness.world, { run: denied.run, as: "deny" });
    expect(await drive(denied.runner, denied.payload)).toMatchObject({ route: "failed" });
    const failure = { code: "BudgetExhausted", message: expect.stringMatching(/^1 of 1 beats are used/) };
    expect(await show(harness.world, denied.run)).toMatchObject({ status: "failed", failure, beats: 1 });
    const silent = await runUntilBudgetGate(harness, { part, budget: { beats: 1 } });
    harness.clock.moveTo(harness.clock.now() + HOURS_24);
    expect(await drive(silent.runner, silent.payload)).toMatchObject({ route: "failed" });
    expect(await show(harness.world, silent.run)).toMatchObject({ status: "failed", failure });
  });

  test("opens a gate also when the model is to be called again after a failure", async () => {
    const harness = createHarness();
    const agent = withBudget(scriptedAgent({ reply: neverSettles }), { wall: 1_000, onExhausted: "ask" });
    const runner = runnerOf(harness.world, agent);
    const waits = await harness.advanceUntilSettled(drive(runner, await beginRun(harness.world, agent, {})));
    expect(harness.row(waits.run)).toMatchObject({ phase: "RetryingLLM" });
    const spent = harness.row(waits.run).spent.wallMs ?? 0;
    expect(spent).toBeGreaterThan(1_000);
    harness.clock.moveTo(harness.clock.now() + 60_000);
    const asking = await harness.advanceUntilSettled(drive(runner, waits));
    expect(harness.row(asking.run)).toMatchObject({ phase: "AwaitingApproval", spent: { wallMs: spent } });
    expect((await budgetRequestsOf(harness.world, asking.run))?.reason).toMatch(/of 1 seconds at work are used$/);
    // What it waited is not time at work.
    expect(await grantBudget(harness.world, { run: asking.run, more: { wallMs: 60_000 } })).toMatchObject({
      kind: "accepted",
    });
    const goesOn = runnerOf(harness.world, { ...agent, model: scriptedAgent({ reply: () => FINAL_REPLY }).model });
    expect(await drive(goesOn, asking)).toMatchObject({ route: "done" });
  });

  test("keeps its gate while the run is paused, and drops it when the run is cancelled", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    await sendRequest(harness.world, { run, want: "pause" });
    const paused = await drive(runner, payload);
    harness.clock.moveTo(harness.clock.now() + 2 * HOURS_24);
    expect(await grantBudget(harness.world, { run, more: { beats: 1 } })).toMatchObject({ kind: "accepted" });
    await sendRequest(harness.world, { run, want: "cancel" });
    expect(await drive(runner, paused)).toMatchObject({ route: "done" });
    expect(harness.row(run).status).toBe("cancelled");
    expect((await show(harness.world, run))?.gates).toEqual([]);
    const other = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    const gate = (await budgetRequestsOf(harness.world, other.run))?.gate ?? "";
    await sendRequest(harness.world, { run: other.run, want: "cancel" });
    expect(await drive(other.runner, other.payload)).toMatchObject({ route: "done" });
    expect(await grantBudget(harness.world, { run: other.run, gate, more: { beats: 1 } })).toEqual({ kind: "late" });
  });
});

describe("a decision about a budget", () => {
  const part = { reply: callsThenFinal(3) };

  test.each([
    ["grants nothing of an exhausted meter", { more: { tokens: 5 } }, /not enough: 2 of 2 beats/],
    ["grants nothing at all", {}, /not enough/],
    ["is an edit", { as: "edit", more: { beats: 1 } }, /no arguments/],
    ["grants a negative amount", { more: { beats: -1 } }, /whole number/],
    ["grants half a beat", { more: { beats: 0.5 } }, /whole number/],
    ["grants more than can be counted", { more: { beats: 1, tokens: 1e15 } }, /whole number/],
    ["denies and grants", { as: "deny", more: { beats: 1 } }, /grants no budget/],
  ] as const)("that %s is refused before any write", async (_, said, why) => {
    const harness = createHarness();
    const { run } = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    const before = harness.row(run);
    expect(await grantBudget(harness.world, { run, ...said })).toMatchObject({
      kind: "refused",
      why: expect.stringMatching(why),
    });
    expect(harness.row(run)).toEqual(before);
  });

  test("counts once: a second decision gets the first one as its response", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilBudgetGate(harness, { part, budget: { beats: 2 } });
    const gate = (await budgetRequestsOf(harness.world, run))?.gate ?? "";
    await grantBudget(harness.world, { run, more: { beats: 9 } });
    expect((await budgetRequestsOf(harness.world, run))?.decided).toBe(true);
    const standing = { kind: "duplicate", decision: { as: "approve", more: { beats: 9 } } };
    expect(await grantBudget(harness.world, { run, gate, as: "deny" })).toMatchObject(standing);
    await drive(runner, payload);
    expect(await grantBudget(harness.world, { run, gate, as: "deny" })).toMatchObject(standing);
    expect((await stateOf(harness.world, run)).extension).toMatchObject({ granted: { beats: 9 }, gate: null });
  });

  test("about a call grants no budget, and a decision about the budget leaves the call's gate open", async () => {
    const harness = createHarness();
    const approval = "always" as const;
    const { run, runner, payload } = await runUntilBudgetGate(harness, {
      part: { reply: twoCalls, approval },
      budget: { toolCalls: 1 },
    });
    const [one, two] = await gatesOf(harness.world, run);
    const of = { run, gate: one?.gate ?? "" };
    expect(await grantBudget(harness.world, { ...of, more: { beats: 1 } })).toMatchObject({ kind: "refused" });
    await grantBudget(harness.world, of);
    const next = await drive(runner, payload);
    expect(harness.row(run).spent.toolCalls).toBe(1);
    await grantBudget(harness.world, { run, gate: two?.gate ?? "" });
    const asking = await drive(runner, next);
    expect({ route: asking.route, reason: (await budgetRequestsOf(harness.world, run))?.reason }).toEqual({
      route: "park",
      reason: "1 of 1 tool calls are used, and more are asked for",
    });
    await grantBudget(harness.world, { run, more: { toolCalls: 1 } });
    expect(await drive(runner, asking)).toMatchObject({ route: "done" });
    expect(await ledger(harness.world, run)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  test("is accepted while the other gate is still open", async () => {
    const harness = createHarness();
    const approval = "always" as const;
    const reply = ({ calls }: Conversation): ScriptedReply =>
      calls.length < 3
        ? { calls: Array.from({ length: 3 - calls.length }, () => ({ tool: "act", args: {} })) }
        : FINAL_REPLY;
    const { run, runner, payload } = await runUntilBudgetGate(harness, {
      part: { reply, approval },
      budget: { toolCalls: 1 },
    });
    const [one, two, three] = await gatesOf(harness.world, run);
    await grantBudget(harness.world, { run, gate: one?.gate ?? "" });
    await grantBudget(harness.world, { run, gate: two?.gate ?? "" });
    const both = await drive(runner, payload);
    expect((await show(harness.world, run))?.gates.map(({ call }) => call)).toEqual(["c3", "budget"]);
    await grantBudget(harness.world, { run, more: { toolCalls: 5 } });
    const left = await drive(runner, both);
    expect({ route: left.route, toolCalls: harness.row(run).spent.toolCalls }).toEqual({
      route: "park",
      toolCalls: 2,
    });
    await grantBudget(harness.world, { run, gate: three?.gate ?? "" });
    expect(await drive(runner, left)).toMatchObject({ route: "done" });
  });
});
