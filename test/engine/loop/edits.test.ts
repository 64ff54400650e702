/** Arguments that a person gives in place of the model's: checked before they are sent, and asked about again if need be. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Json } from "../../../src/core/json.ts";
import { decide } from "../../../src/operations/decide.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import {
  runUntilGate,
  approvalAgent,
  gatesOf,
  payCalls,
  toolResultsOf,
  decideGate,
  stateOf,
} from "../../support/agents/approval-agent.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { attemptBeat, drive, runnerOf } from "../../support/harness/drive.ts";
import { type Harness, beatReply, createHarness, flushPromises } from "../../support/harness/harness.ts";

const WRONG: Json = { euros: "three" };
const WHY = /^ArgumentsInvalid: the arguments of the last decision do not fit pay: euros: Invalid input/;

const asksIn = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "ApprovalRequested");

describe("arguments that do not fit the tool", () => {
  test("are refused before anything is sent, with the path of the problem, when the agent is available", async () => {
    const harness = createHarness();
    const { run, agent } = await runUntilGate(harness);
    const [gate] = await gatesOf(harness.world, run);
    const before = harness.row(run);
    const said = { run, gate: gate?.gate ?? "", as: "edit", by: "ann", note: null, agent } as const;
    const refused = await decide(harness.world, { ...said, args: WRONG });
    expect(refused).toEqual({ kind: "argsInvalid", why: expect.stringMatching(/^euros: Invalid input/), asks: null });
    expect({ row: harness.row(run), messages: harness.world.store.messages.size }).toEqual({
      row: before,
      messages: 0,
    });
    expect(await decide(harness.world, { ...said, args: { euros: 3 } })).toMatchObject({ kind: "accepted" });
  });

  test("leave the call unrun and its gate open again, with another ID and the problem", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    const [first] = await gatesOf(harness.world, run);
    await decideGate(harness.world, { run, as: "edit", args: WRONG });
    const reply = await drive(runner, payload);
    expect(reply).toMatchObject({ route: "park" });
    expect({ ran, toolResults: await toolResultsOf(harness, run) }).toEqual({ ran: [], toolResults: [] });
    const [second] = await gatesOf(harness.world, run);
    expect(second).toMatchObject({ reason: expect.stringMatching(WHY), argsHash: first?.argsHash, decision: null });
    expect(second?.gate).not.toBe(first?.gate);
    expect(second?.expiresAt).toBe(harness.clock.now() + harness.world.limits.gateMs);
    // The person who is asked again sees the model's arguments, and may approve them as they are.
    expect((await show(harness.world, run))?.gates).toMatchObject([{ call: "c1", args: { euros: 5 }, decided: false }]);
    expect(harness.row(run)).toMatchObject({ status: "waiting", phase: "AwaitingApproval" });
    expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded", attempts: 1 }]);
  });

  test("reopen a gate as often as they are given, and the call runs with arguments that fit", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness);
    let reply = payload;
    for (let round = 1; round <= 3; round += 1) {
      await decideGate(harness.world, { run, as: "edit", args: WRONG });
      reply = await drive(runner, reply);
      expect((await stateOf(harness.world, run)).open).toMatchObject([
        { status: "gated", edited: null, timesReopened: round },
      ]);
    }
    const asks = await asksIn(harness, run);
    expect(new Set(asks.map(({ gate }) => gate)).size).toBe(4);
    expect(asks.map(({ timesReopened }) => timesReopened)).toEqual([undefined, 1, 2, 3]);
    await decideGate(harness.world, { run, as: "edit", args: { euros: 3 } });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 3 }]);
  });

  test("of one call of several delay that call alone", async () => {
    const harness = createHarness();
    const { run, runner, payload, ran } = await runUntilGate(harness, { reply: payCalls({ euros: 1 }, { euros: 2 }) });
    const [one, two] = await gatesOf(harness.world, run);
    await decideGate(harness.world, { run, gate: one?.gate ?? "", as: "edit", args: WRONG });
    await decideGate(harness.world, { run, gate: two?.gate ?? "", as: "approve" });
    await drive(runner, payload);
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 2 }]);
    expect((await show(harness.world, run))?.gates).toMatchObject([{ call: "c1", reason: expect.stringMatching(WHY) }]);
  });

  test("are reported to their sender when the sender waits for the beat", async () => {
    const harness = createHarness();
    const { run, runner, payload } = await runUntilGate(harness);
    const [gate] = await gatesOf(harness.world, run);
    const said = { run, gate: gate?.gate ?? "", as: "edit", args: WRONG, by: "ann", note: null } as const;
    const told = decide(harness.world, { ...said, waitMs: 5_000 });
    await flushPromises();
    await harness.advanceUntilSettled(drive(runner, payload));
    const outcome = await harness.advanceUntilSettled(told);
    const [open] = await gatesOf(harness.world, run);
    expect(outcome).toEqual({ kind: "argsInvalid", why: expect.stringMatching(WHY), asks: open?.gate });
  });

  test("reopen the gate also when only a version that is deployed meanwhile refuses them", async () => {
    const harness = createHarness();
    const { run, payload, ran } = await runUntilGate(harness);
    await decideGate(harness.world, { run, as: "edit", args: { euros: 3, note: "soon" } });
    const strict = approvalAgent({ ran, version: "2" });
    const { pay } = strict.tools;
    const agent = { ...strict, tools: { pay: { ...pay, input: { safeParse: withoutNote } } } } as unknown as Agent;
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "park" });
    expect((await show(harness.world, run))?.gates).toMatchObject([
      { reason: expect.stringContaining("note: not any more") },
    ]);
  });
});

const withoutNote = ({ note }: { readonly note?: string }) =>
  note === undefined
    ? { success: true, data: {} }
    : { success: false, error: { issues: [{ path: ["note"], message: "not any more" }] } };

test("a death at any call of the beat that reopens a gate reopens it once, and loses neither gate nor call", async () => {
  const crashes = await forEachCrashPoint(async (crash: CrashPoint) => {
    const harness = createHarness();
    const { run, agent, payload, ran } = await runUntilGate(harness);
    await decideGate(harness.world, { run, as: "edit", args: WRONG });
    const isAlive = await crashAtCall(harness.world, crash).survives((world) =>
      attemptBeat(runnerOf(world, agent), payload),
    );
    const reply = isAlive ? payload : await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
    expect(await asksIn(harness, run)).toMatchObject([{}, { timesReopened: 1, reason: expect.stringMatching(WHY) }]);
    await decideGate(harness.world, { run, as: "approve" });
    const { chain, epoch } = harness.row(run);
    expect(await drive(runnerOf(harness.world, agent), { ...reply, chain, epoch })).toMatchObject({ route: "done" });
    expect(ran.map(({ args }) => args)).toEqual([{ euros: 5 }]);
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(8);
});
