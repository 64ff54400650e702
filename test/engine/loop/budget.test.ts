/** Budgets in the runner: what is counted, when a person is asked for more, and what their answer does. */
import { describe, expect, test } from "vitest";
import type { Conversation, ScriptedReply } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { gatesOf, stateOf } from "../../support/asking.ts";
import { begin, drive, runnerOf } from "../../support/drive.ts";
import { asks, give, spend, withBudget } from "../../support/spending.ts";
import { OVER, actor, callsThenOver, never, passing, rowOf, stage } from "../../support/stage.ts";

const HOURS_24 = 24 * 3_600_000;
const twoCalls = ({ calls }: Conversation): ScriptedReply =>
  calls.length === 0
    ? {
        calls: [
          { tool: "act", args: {} },
          { tool: "act", args: {} },
        ],
      }
    : OVER;

describe("tool calls", () => {
  test("are not released beyond their limit; a run that made all of them may still say what came of it", async () => {
    const on = stage();
    const part = { reply: callsThenOver(2) };
    const done = await spend(on, { part, budget: { toolCalls: 2, onExhausted: "stop" } });
    expect(rowOf(on, done.run)).toMatchObject({ status: "completed", spent: { toolCalls: 2 } });
    const less = await spend(on, { part, budget: { toolCalls: 1, onExhausted: "stop" } });
    expect(rowOf(on, less.run)).toMatchObject({ status: "failed", spent: { toolCalls: 1 } });
    expect((await show(on.world, less.run))?.failure).toMatchObject({
      code: "BudgetExhausted",
      message: expect.stringMatching(/^1 of 1 tool calls are used/),
    });
  });

  test("of one reply are all released or none", async () => {
    const on = stage();
    const ran: string[] = [];
    const part = { reply: twoCalls, run: ({ key }: { readonly key: string }) => ran.push(key) };
    const { run, runner, payload } = await spend(on, { part, budget: { toolCalls: 1 } });
    expect([ran, rowOf(on, run).phase]).toEqual([[], "AwaitingApproval"]);
    expect(await give(on.world, { run, more: { toolCalls: 1 } })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    expect(new Set(ran).size).toBe(2);
    expect(rowOf(on, run).spent.toolCalls).toBe(2);
  });
});

describe("a budget that is used up", () => {
  const part = { reply: callsThenOver(3) };

  test("opens a gate that waits a day, says what is spent, and is listed with the others", async () => {
    const on = stage();
    const { run, payload } = await spend(on, { part, budget: { beats: 2 } });
    expect(payload).toMatchObject({ route: "park", seconds: HOURS_24 / 1_000 });
    expect(rowOf(on, run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval", spent: { beats: 2 } });
    const gate = await asks(on.world, run);
    expect(gate).toMatchObject({ reason: "2 of 2 beats are used", tool: "budget", decided: false });
    expect(gate).toMatchObject({ args: { limits: { beats: 2, tokens: null }, spent: { beats: 2 } } });
    expect(rowOf(on, run).wakeAt).toBe(gate?.expiresAt);
  });

  test("is extended by what a person gives, and asked about again when that is used up", async () => {
    const on = stage();
    const { run, runner, payload } = await spend(on, { part, budget: { beats: 2 } });
    const first = (await asks(on.world, run))?.gate;
    expect(await give(on.world, { run, more: { beats: 1, microUsd: 5 } })).toMatchObject({ kind: "accepted" });
    const again = await drive(runner, payload);
    expect(rowOf(on, run)).toMatchObject({ status: "waiting", spent: { beats: 3 } });
    expect((await asks(on.world, run))?.gate).not.toBe(first);
    expect(await give(on.world, { run, more: { beats: 10 } })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, again)).toMatchObject({ route: "done" });
    expect(await show(on.world, run)).toMatchObject({ status: "completed", beats: 4 });
    expect(await show(on.world, run)).toMatchObject({ granted: { beats: 11, microUsd: 5 }, gates: [] });
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    expect(events.filter(({ kind }) => kind === "HumanApprovalReceived")).toMatchObject([
      { call: "budget", decision: { by: "ann", note: "it is worth it", more: { beats: 1, microUsd: 5 } } },
      { call: "budget", decision: { more: { beats: 10 } } },
    ]);
    expect((await ledger(on.world, run))?.map(({ call }) => call)).toEqual(["c1", "c2", "c3"]);
  });

  test("ends the run where it is denied, and where nobody decides in time", async () => {
    const on = stage();
    const denied = await spend(on, { part, budget: { beats: 1 } });
    await give(on.world, { run: denied.run, as: "deny" });
    expect(await drive(denied.runner, denied.payload)).toMatchObject({ route: "failed" });
    const failure = { code: "BudgetExhausted", message: expect.stringMatching(/^1 of 1 beats are used/) };
    expect(await show(on.world, denied.run)).toMatchObject({ status: "failed", failure, beats: 1 });
    const silent = await spend(on, { part, budget: { beats: 1 } });
    on.clock.moveTo(on.clock.now() + HOURS_24);
    expect(await drive(silent.runner, silent.payload)).toMatchObject({ route: "failed" });
    expect(await show(on.world, silent.run)).toMatchObject({ status: "failed", failure });
  });

  test("is asked about also where the model is to be asked again after a failure", async () => {
    const on = stage();
    const agent = withBudget(actor({ reply: never }), { wall: 1_000, onExhausted: "ask" });
    const runner = runnerOf(on.world, agent);
    const waits = await passing(on, drive(runner, await begin(on.world, agent, {})));
    expect(rowOf(on, waits.run)).toMatchObject({ phase: "RetryingLLM" });
    const spent = rowOf(on, waits.run).spent.wallMs ?? 0;
    expect(spent).toBeGreaterThan(1_000);
    on.clock.moveTo(on.clock.now() + 60_000);
    const asking = await passing(on, drive(runner, waits));
    expect(rowOf(on, asking.run)).toMatchObject({ phase: "AwaitingApproval", spent: { wallMs: spent } });
    expect((await asks(on.world, asking.run))?.reason).toMatch(/of 1 seconds at work are used$/);
    // What it waited is not time at work.
    expect(await give(on.world, { run: asking.run, more: { wallMs: 60_000 } })).toMatchObject({ kind: "accepted" });
    const goesOn = runnerOf(on.world, { ...agent, model: actor({ reply: () => OVER }).model });
    expect(await drive(goesOn, asking)).toMatchObject({ route: "done" });
  });

  test("goes on being asked about while the run is paused, and is dropped with a run that is cancelled", async () => {
    const on = stage();
    const { run, runner, payload } = await spend(on, { part, budget: { beats: 2 } });
    await sendRequest(on.world, { run, want: "pause" });
    const paused = await drive(runner, payload);
    on.clock.moveTo(on.clock.now() + 2 * HOURS_24);
    expect(await give(on.world, { run, more: { beats: 1 } })).toMatchObject({ kind: "accepted" });
    await sendRequest(on.world, { run, want: "cancel" });
    expect(await drive(runner, paused)).toMatchObject({ route: "done" });
    expect(rowOf(on, run).status).toBe("cancelled");
    expect((await show(on.world, run))?.gates).toEqual([]);
    const other = await spend(on, { part, budget: { beats: 2 } });
    const gate = (await asks(on.world, other.run))?.gate ?? "";
    await sendRequest(on.world, { run: other.run, want: "cancel" });
    expect(await drive(other.runner, other.payload)).toMatchObject({ route: "done" });
    expect(await give(on.world, { run: other.run, gate, more: { beats: 1 } })).toEqual({ kind: "late" });
  });
});

describe("a decision about a budget", () => {
  const part = { reply: callsThenOver(3) };

  test.each([
    ["gives nothing of what is used up", { more: { tokens: 5 } }, /not enough: 2 of 2 beats/],
    ["gives nothing at all", {}, /not enough/],
    ["is an edit", { as: "edit", more: { beats: 1 } }, /no arguments/],
    ["gives less than nothing", { more: { beats: -1 } }, /whole number/],
    ["gives half a beat", { more: { beats: 0.5 } }, /whole number/],
    ["gives more than can be counted", { more: { beats: 1, tokens: 1e15 } }, /whole number/],
    ["denies and gives", { as: "deny", more: { beats: 1 } }, /grants no budget/],
  ] as const)("that %s is refused before any write", async (_, said, why) => {
    const on = stage();
    const { run } = await spend(on, { part, budget: { beats: 2 } });
    const before = rowOf(on, run);
    expect(await give(on.world, { run, ...said })).toMatchObject({ kind: "refused", why: expect.stringMatching(why) });
    expect(rowOf(on, run)).toEqual(before);
  });

  test("counts once: the second one is told the first", async () => {
    const on = stage();
    const { run, runner, payload } = await spend(on, { part, budget: { beats: 2 } });
    const gate = (await asks(on.world, run))?.gate ?? "";
    await give(on.world, { run, more: { beats: 9 } });
    expect((await asks(on.world, run))?.decided).toBe(true);
    const standing = { kind: "duplicate", decision: { as: "approve", more: { beats: 9 } } };
    expect(await give(on.world, { run, gate, as: "deny" })).toMatchObject(standing);
    await drive(runner, payload);
    expect(await give(on.world, { run, gate, as: "deny" })).toMatchObject(standing);
    expect((await stateOf(on.world, run)).extension).toMatchObject({ granted: { beats: 9 }, gate: null });
  });

  test("about a call gives no budget, and one about the budget waits beside it", async () => {
    const on = stage();
    const approval = "always" as const;
    const { run, runner, payload } = await spend(on, { part: { reply: twoCalls, approval }, budget: { toolCalls: 1 } });
    const [one, two] = await gatesOf(on.world, run);
    const of = { run, gate: one?.gate ?? "" };
    expect(await give(on.world, { ...of, more: { beats: 1 } })).toMatchObject({ kind: "refused" });
    await give(on.world, of);
    const next = await drive(runner, payload);
    expect(rowOf(on, run).spent.toolCalls).toBe(1);
    await give(on.world, { run, gate: two?.gate ?? "" });
    const asking = await drive(runner, next);
    expect([asking.route, (await asks(on.world, run))?.reason]).toEqual([
      "park",
      "1 of 1 tool calls are used, and more are asked for",
    ]);
    await give(on.world, { run, more: { toolCalls: 1 } });
    expect(await drive(runner, asking)).toMatchObject({ route: "done" });
    expect(await ledger(on.world, run)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  test("may come while the other gate is still open", async () => {
    const on = stage();
    const approval = "always" as const;
    const reply = ({ calls }: Conversation): ScriptedReply =>
      calls.length < 3 ? { calls: Array.from({ length: 3 - calls.length }, () => ({ tool: "act", args: {} })) } : OVER;
    const { run, runner, payload } = await spend(on, { part: { reply, approval }, budget: { toolCalls: 1 } });
    const [one, two, three] = await gatesOf(on.world, run);
    await give(on.world, { run, gate: one?.gate ?? "" });
    await give(on.world, { run, gate: two?.gate ?? "" });
    const both = await drive(runner, payload);
    expect((await show(on.world, run))?.gates.map(({ call }) => call)).toEqual(["c3", "budget"]);
    await give(on.world, { run, more: { toolCalls: 5 } });
    const left = await drive(runner, both);
    expect([left.route, rowOf(on, run).spent.toolCalls]).toEqual(["park", 2]);
    await give(on.world, { run, gate: three?.gate ?? "" });
    expect(await drive(runner, left)).toMatchObject({ route: "done" });
  });
});
