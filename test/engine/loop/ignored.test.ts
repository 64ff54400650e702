/** Decisions that come to nothing: their authors are told, and the run records that they were ignored, and why. */
import { describe, expect, test } from "vitest";
import { requestCompensation } from "../../../src/operations/compensate.ts";
import { decide } from "../../../src/operations/decide.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { runUntilGate, approvalAgent, gatesOf, payCalls, decideGate } from "../../support/agents/approval-agent.ts";
import { type CrashPoint, crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { FINAL_REPLY, type Harness, createHarness, flushPromises } from "../../support/harness/harness.ts";
import { freezeBeforeCall } from "../../support/harness/chain-steps.ts";

const ignoredIn = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).filter((event) => event.kind === "DecisionIgnored");

const approval = (run: string, gate: string) =>
  ({ run, gate, as: "approve", args: null, by: "ann", note: null }) as const;

/** A run that waits at a gate, and what a person says of that gate. */
async function gated() {
  const harness = createHarness();
  const waiting = await runUntilGate(harness);
  const gate = (await gatesOf(harness.world, waiting.run))[0]?.gate ?? "";
  return { harness, ...waiting, gate };
}

describe("a decision about a gate that is still open", () => {
  test("of a run that must cancel is refused before any write, with the reason", async () => {
    const { harness, run, gate } = await gated();
    await sendRequest(harness.world, { run, want: "cancel" });
    const before = harness.row(run);
    const told = await decide(harness.world, approval(run, gate));
    expect(told).toEqual({ kind: "stale", gates: [], why: "the run is being cancelled, so nothing more is started" });
    expect({ row: harness.row(run), messages: harness.world.store.messages.size }).toEqual({
      row: before,
      messages: 0,
    });
  });

  test("has no effect once the run must cancel: that is recorded, shown and reported to the sender", async () => {
    const { harness, run, gate, runner, payload, ran } = await gated();
    expect(await decideGate(harness.world, { run, as: "approve" })).toEqual({ kind: "accepted", stage: "waits" });
    await sendRequest(harness.world, { run, want: "cancel" });
    const pending = { kind: "noEffect", why: expect.stringContaining("is being cancelled"), gates: [] };
    expect(await decide(harness.world, approval(run, gate))).toEqual(pending);
    await drive(runner, payload);
    expect(harness.row(run).status).toBe("cancelled");
    expect(await ignoredIn(harness, run)).toMatchObject([{ gate, as: "approve", by: "ann", why: pending.why }]);
    expect((await show(harness.world, run))?.ignoredDecision).toMatchObject({
      call: "c1",
      gate,
      as: "approve",
      by: "ann",
    });
    expect(await decide(harness.world, approval(run, gate))).toEqual(pending);
    expect(ran).toEqual([]);
  });

  test("about the budget has no effect then either, and is recorded under the gate's name", async () => {
    const harness = createHarness();
    const plain = approvalAgent({ approval: "never" });
    const budget = { ...plain.budget, beats: 1, onExhausted: "ask" as const };
    const agent = { ...plain, budget };
    const { run, payload } = await started(harness, agent);
    const [gate] = (await show(harness.world, run))?.gates ?? [];
    expect(gate?.call).toBe("budget");
    await decide(harness.world, { ...approval(run, gate?.gate ?? ""), more: { beats: 5 } });
    await sendRequest(harness.world, { run, want: "cancel" });
    await drive(runnerOf(harness.world, agent), payload);
    expect((await show(harness.world, run))?.ignoredDecision).toMatchObject({ call: "budget", as: "approve" });
  });
});

describe("a decision about a gate that was closed meanwhile", () => {
  /** A person has looked at the gate and is slow; `meanwhile` happens, and then the run takes the decision in. */
  async function slow(meanwhile: (at: Awaited<ReturnType<typeof gated>>) => Promise<unknown>) {
    const at = await gated();
    const { harness, run, gate, agent } = at;
    const frozen = freezeBeforeCall(harness.world, "deliver");
    const told = decide(frozen.world, approval(run, gate));
    await flushPromises();
    await meanwhile(at);
    frozen.thaw();
    const outcome = await told;
    const { born, chain, epoch } = harness.row(run);
    await drive(runnerOf(harness.world, agent), { run, born, chain, epoch, agent: agent.name });
    return { ...at, outcome };
  }

  test("by a restart is refused at once, and recorded when it is absorbed", async () => {
    const { harness, run, gate, ran, outcome } = await slow(
      async ({ harness: { world }, run: id, runner, payload }) => {
        await requestCompensation(world, { run: id, next: "restart", by: "bob" });
        await drive(runner, payload);
      },
    );
    const why = "the attempt that its gate belonged to has ended, and the run began again";
    const gates = (await gatesOf(harness.world, run)).map((each) => each.gate);
    expect(outcome).toEqual({ kind: "noEffect", why, gates });
    expect(await ignoredIn(harness, run)).toMatchObject([{ gate, as: "approve", by: "ann", why }]);
    expect((await show(harness.world, run))?.ignoredDecision).toMatchObject({ gate, why });
    expect(ran).toEqual([]);
  });

  test("by its expiry gets the denial as its response, and is recorded as well", async () => {
    const { harness, run, gate, ran, outcome } = await slow(async ({ harness: { clock, world }, payload, agent }) => {
      clock.moveTo(clock.now() + world.limits.gateMs);
      await drive(runnerOf(world, { ...agent, model: approvalAgent({ reply: () => PAYS_MORE }).model }), payload);
    });
    expect(outcome).toMatchObject({ kind: "duplicate", decision: { as: "deny", by: "expiry" } });
    const why = "its gate was closed before the run read the decision";
    expect({ ran, ignored: await ignoredIn(harness, run) }).toMatchObject({
      ran: [],
      ignored: [{ gate, by: "ann", why }],
    });
  });
});

const PAYS_MORE = { calls: [{ tool: "pay", args: { euros: 7 } }] };

async function started(harness: Harness, agent: ReturnType<typeof approvalAgent>) {
  const payload = await beginRun(harness.world, agent, {});
  return { run: payload.run, payload: await drive(runnerOf(harness.world, agent), payload) };
}

describe("a sender that waits", () => {
  test("gets the effect of its decision as soon as that is committed", async () => {
    const { harness, run, gate, runner, payload, ran } = await gated();
    const told = decide(harness.world, { ...approval(run, gate), waitMs: 5_000 });
    await flushPromises();
    await harness.advanceUntilSettled(drive(runner, payload));
    expect(await harness.advanceUntilSettled(told)).toEqual({ kind: "accepted", stage: "applied" });
    expect(ran).toHaveLength(1);
  });

  test("gets the restart as the outcome when the run restarted meanwhile", async () => {
    const { harness, run, gate, runner, payload, ran } = await gated();
    const told = decide(harness.world, { ...approval(run, gate), waitMs: 5_000 });
    await flushPromises();
    await requestCompensation(harness.world, { run, next: "restart", by: "bob" });
    await harness.advanceUntilSettled(drive(runner, payload));
    const [open] = await gatesOf(harness.world, run);
    expect(await harness.advanceUntilSettled(told)).toEqual({
      ...{ kind: "noEffect", why: expect.stringContaining("begin again"), gates: [open?.gate] },
    });
    expect({ ran, ignored: await ignoredIn(harness, run) }).toMatchObject({ ran: [], ignored: [{ gate }] });
  });

  test("waits at most for its timeout, and not at all for a paused run", async () => {
    const { harness, run, gate } = await gated();
    const begun = harness.clock.now();
    const told = decide(harness.world, { ...approval(run, gate), waitMs: 700 });
    expect(await harness.advanceUntilSettled(told)).toEqual({ kind: "accepted", stage: "waits" });
    expect(harness.clock.now() - begun).toBe(700);
    const paused = await gated();
    await sendRequest(paused.harness.world, { run: paused.run, want: "pause" });
    const at = paused.harness.clock.now();
    const said = decide(paused.harness.world, { ...approval(paused.run, paused.gate), waitMs: 700 });
    expect(await said).toEqual({ kind: "accepted", stage: "waits" });
    expect(paused.harness.clock.now()).toBe(at);
  });

  test("gets an unknown effect when the history is lost", async () => {
    const harness = createHarness();
    const reply = payCalls({ euros: 1 });
    const { run, runner, payload } = await runUntilGate(harness, {
      reply: (talk) => (talk.calls.length < 1 ? reply(talk) : FINAL_REPLY),
    });
    const [gate] = await gatesOf(harness.world, run);
    const told = decide(harness.world, { ...approval(run, gate?.gate ?? ""), waitMs: 5_000 });
    await flushPromises();
    await harness.advanceUntilSettled(drive(runner, payload));
    const newest = harness.row(run).snapshot.key;
    for (const key of harness.world.store.objects.keys()) {
      if (key.includes("/snapshots/") && key !== newest) harness.world.store.objects.delete(key);
    }
    expect(await harness.advanceUntilSettled(told)).toEqual({ kind: "accepted", stage: "unknown" });
  });
});

test("a death at any call of the beat that restarts: the decision is ignored once, and no call runs because of it", async () => {
  const crashes = await forEachCrashPoint(async (crash: CrashPoint) => {
    const { harness, run, gate, agent, payload, ran } = await gated();
    await decideGate(harness.world, { run, as: "approve" });
    await requestCompensation(harness.world, { run, next: "restart", by: "bob" });
    const isAlive = await crashAtCall(harness.world, crash).survives((world) =>
      attemptBeat(runnerOf(world, agent), payload),
    );
    if (!isAlive) await attemptBeat(runnerOf(harness.world, agent), payload, 1);
    const { chain, epoch, born } = harness.row(run);
    await drive(runnerOf(harness.world, agent), { run, born, chain, epoch, agent: agent.name });
    expect(await ignoredIn(harness, run)).toMatchObject([{ gate, by: "ann" }]);
    const open = (await gatesOf(harness.world, run)).map((each) => each.gate);
    expect(await decide(harness.world, approval(run, gate))).toMatchObject({ kind: "noEffect", gates: open });
    expect({ gateIsOpen: open.includes(gate), ran }).toEqual({ gateIsOpen: false, ran: [] });
    return isAlive;
  });
  expect(crashes).toBeGreaterThan(8);
});
