/** What follows when nobody knows whether a call happened: each policy, for each effect that can come to that. */
import type { Effect } from "../../../src/core/calls/effects.ts";
import { describe, expect, test } from "vitest";
import type { OnUnknown } from "../../../src/core/event.ts";
import { OutcomeUnknown, type Probe } from "../../../src/index.ts";
import { ledger, show, timeline } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { toolResultsOf } from "../../support/agents/approval-agent.ts";
import { replyWithCalls, sideEffectAgent } from "../../support/agents/side-effect-agent.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import { beatReply, createHarness, MS } from "../../support/harness/harness.ts";
import { recoveryRulesOf } from "../../support/harness/chain-steps.ts";

const lost = (): never => {
  throw new OutcomeUnknown("the answer was lost");
};

/** A run of one call whose outcome is unknown by now. */
async function unknown(of: { readonly effect: Effect; readonly onUnknown: OnUnknown | null }) {
  const harness = createHarness();
  const { effect, onUnknown } = of;
  const probe = effect === "probed" ? { probe: (): Probe => ({ kind: "unknown" }) } : {};
  const made = sideEffectAgent({
    reply: replyWithCalls([["pay", "ada", 5]]),
    pay: { effect, onUnknown, ...probe },
    run: lost,
  });
  const runner = runnerOf(harness.world, made.agent);
  const payload = await beginRun(harness.world, made.agent, {});
  let reply = await harness.advanceUntilSettled(drive(runner, payload));
  // A probe waits for what may still land.
  if (effect === "probed") {
    harness.clock.moveTo(harness.row(reply.run).wakeAt ?? 0);
    reply = await harness.advanceUntilSettled(drive(runner, reply));
  }
  return { harness, runner, reply, run: payload.run, done: made.done };
}

describe.each(["unsafe", "probed"] as const)("%s", (effect) => {
  test.each([null, "ask"] as const)("%s: waits for an operator without a limit", async (onUnknown) => {
    const { harness, reply, run } = await unknown({ effect, onUnknown });
    expect(reply.route).toBe("park");
    expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ otherwise: "ask" }] });
  });

  test("tell: the model gets the unknown outcome, to the millisecond when requests have settled", async () => {
    const { harness, runner, reply, run, done } = await unknown({ effect, onUnknown: "tell" });
    const reconcilableFrom = (harness.row(run).claimedAt ?? 0) + MS.beat + MS.skew + MS.settle;
    expect(reply.route).toBe("wait");
    expect(harness.row(run)).toMatchObject({ status: "blocked", wakeAt: reconcilableFrom });
    expect(await show(harness.world, run)).toMatchObject({ unknown: [{ otherwise: "tell", reconcilableFrom }] });
    harness.clock.moveTo(reconcilableFrom - 1);
    const still = await beatReply(attemptBeat(runner, reply));
    expect({ route: still.route, toolResults: await toolResultsOf(harness, run) }).toEqual({
      route: "wait",
      toolResults: [],
    });
    harness.clock.moveTo(reconcilableFrom);
    expect((await harness.advanceUntilSettled(drive(runner, still))).route).toBe("done");
    expect(await toolResultsOf(harness, run)).toMatchObject([{ outcome: "unknown" }]);
    expect(await recoveryRulesOf(harness.world, run)).toContain("outcome stays unknown, the model is told");
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "unknown" }]);
    expect(done).toHaveLength(1);
  });

  test("fail: the run fails as OutcomeUnknown, and names the key to look for", async () => {
    const { harness, runner, reply, run, done } = await unknown({ effect, onUnknown: "fail" });
    harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
    expect((await harness.advanceUntilSettled(drive(runner, reply))).route).toBe("failed");
    const shown = await show(harness.world, run);
    expect(shown).toMatchObject({ status: "failed", failure: { code: "OutcomeUnknown" } });
    expect(shown?.failure?.message).toContain(done[0]?.key);
    expect(await recoveryRulesOf(harness.world, run)).toContain("outcome stays unknown, the run fails");
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "unknown" }]);
  });

  test.each(["tell", "fail"] as const)("%s: an earlier answer of an operator is applied", async (onUnknown) => {
    const { harness, runner, reply, run } = await unknown({ effect, onUnknown });
    const said = { run, call: "c1", as: "succeeded", result: "paid", by: "ann", note: null } as const;
    expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
    harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
    expect((await harness.advanceUntilSettled(drive(runner, reply))).route).toBe("done");
    expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled" }]);
    expect(await recoveryRulesOf(harness.world, run)).not.toContainEqual(expect.stringContaining("stays unknown"));
  });
});

test.each([null, "tell"] as const)(
  "none, after its last try, %s: the call has failed, and the model reads of no effect",
  async (onUnknown) => {
    const { harness, reply, run, done } = await unknown({ effect: "none", onUnknown });
    expect({ route: reply.route, done: done.length }).toEqual({ route: "done", done: 3 });
    const [result] = await toolResultsOf(harness, run);
    const words = "NoAnswer: the answer was lost, in the last of 3 tries";
    expect(result).toMatchObject({ outcome: "failed", value: { json: words } });
    const entry = { status: "failed", evidence: "no try of it gave an answer" };
    expect(await ledger(harness.world, run)).toMatchObject([entry]);
  },
);

test.each([null, "tell"] as const)(
  "keyed, after its last try, %s: the model gets it at once, and an event names the rule",
  async (onUnknown) => {
    const { harness, reply, run, done } = await unknown({ effect: "keyed", onUnknown });
    expect({ route: reply.route, done: done.length }).toEqual({ route: "done", done: 3 });
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const after = events.slice(events.findIndex(({ kind }) => kind === "ToolOutcomeUnknown"));
    expect(after.slice(0, 2)).toMatchObject([
      { kind: "ToolOutcomeUnknown", onUnknown: "tell" },
      { kind: "RecoveryDecided", action: { kind: "tell", call: "c1" }, version: after[0]?.version },
    ]);
    expect(JSON.stringify(await toolResultsOf(harness, run))).toContain("unknown after 3 tries with one key");
  },
);

describe.each(["none", "keyed"] as const)("%s, after its last try", (effect) => {
  test("ask: an operator is asked", async () => {
    const { harness, reply, run } = await unknown({ effect, onUnknown: "ask" });
    expect(reply.route).toBe("park");
    expect(await show(harness.world, run)).toMatchObject({ status: "blocked", unknown: [{ otherwise: "ask" }] });
  });

  test("fail: the run fails once requests have settled", async () => {
    const { harness, runner, reply, run } = await unknown({ effect, onUnknown: "fail" });
    expect(reply.route).toBe("wait");
    harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
    expect((await harness.advanceUntilSettled(drive(runner, reply))).route).toBe("failed");
    expect(await show(harness.world, run)).toMatchObject({ failure: { code: "OutcomeUnknown" } });
  });
});
