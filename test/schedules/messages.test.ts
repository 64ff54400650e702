/**
 * Messages, wishes and decisions: each is taken in once and none is lost, wherever the run and its senders are.
 */
import { gateIn } from "../../src/core/calls/held-calls.ts";
import { expect, test } from "vitest";
import type { HumanDecision } from "../../src/core/approval.ts";
import type { Answer } from "../../src/core/event.ts";
import { gateId } from "../../src/protocol/ids.ts";
import { decide } from "../../src/operations/decide.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  beatReply,
  flushPromises,
} from "../support/harness/harness.ts";
import {
  dieInTool,
  crashAfterCall,
  freezeBeforeCall,
  wrapTableCall,
  sweep,
  beforeCall,
} from "../support/harness/chain-steps.ts";

const reconcileAs = (world: World, run: string, as: Answer["as"], by = "ann") =>
  reconcile(world, { run, call: "c1", as, result: null, by, note: null });

const words = (run: string, id = "w1") => ({ run, text: `words ${id}`, by: "ann", id });

const away = async (): Promise<never> => {
  throw new StoreUnreachable("the table is away");
};

const heard = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await transcript(world, run)) ?? []).flatMap(({ source, parts }) =>
    source === "user:ann" ? parts.map((part) => (part.kind === "text" ? part.text : "")) : [],
  );

/** A run that is parked until somebody says what became of its unsafe call, and can be believed. */
async function blocked(harness: Harness) {
  let runs = 1;
  const agent = scriptedAgent({ effect: "unsafe", run: () => (runs += 1) });
  const { run, born } = await beginRun(harness.world, agent, {});
  const key = await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "blocked" });
  expect(harness.row(run).park).not.toBeNull();
  harness.clock.moveTo(harness.row(run).effectsSettleAt + harness.world.limits.settleMs);
  return { run, born, agent, key, runs: () => runs };
}

/** A run that waits at a gate. */
async function gated(harness: Harness) {
  let runs = 0;
  const agent = scriptedAgent({ approval: "always", run: () => (runs += 1) });
  const { run, born } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  const { state } = await load(harness.world, harness.row(run), new SegmentCache());
  const gate = state.open[0] && gateIn(state.open[0]);
  if (!gate) throw new Error("it waits at no gate");
  const decideAs = (as: HumanDecision["as"], id = gate.gate) =>
    decide(harness.world, { run, gate: id, as, args: null, by: "ann", note: null });
  return { run, born, agent, gate, decideAs, runs: () => runs };
}

test("schedule 10: a sender dies between its message and the wake; its retry counts nothing, and wakes", async () => {
  const harness = createChainHarness();
  const { run, agent } = await blocked(harness);
  void reconcileAs(crashAfterCall(harness.world, "deliver"), run, "succeeded");
  await flushPromises();
  expect(harness.row(run).wakeCount).toBe(1);
  expect(harness.wakes).toEqual([]);
  expect(await reconcileAs(harness.world, run, "succeeded")).toMatchObject({ kind: "duplicate" });
  expect(harness.row(run).wakeCount).toBe(1);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  // Before the run is parked there is nobody to wake: the park itself sees that somebody stirred.
  const payload = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "park" });
  void reconcileAs(crashAfterCall(harness.world, "deliver"), payload.run, "succeeded");
  await flushPromises();
  await harness.runUntilIdle(agent);
  expect(harness.row(payload.run).status).toBe("completed");
});

test("schedule 11: a pause and a resume raise wakeCount of a blocked run without a message; it wakes only once", async () => {
  const harness = createChainHarness();
  const { run, agent } = await blocked(harness);
  for (const want of ["pause", "resume"] as const)
    expect(await sendRequest(harness.world, { run, want })).toBe("requested");
  expect(harness.row(run)).toMatchObject({ wakeCount: 2, wakeCountSeen: 0 });
  // One beat sees both and parks again.
  expect(await harness.runUntilIdle(agent)).toBe(2);
  expect(harness.row(run)).toMatchObject({ wakeCount: 2, wakeCountSeen: 2, status: "blocked" });
  expect(harness.row(run).park).not.toBeNull();
});

test("schedule 12: a message is acknowledged after the inbox is read and before the end commits", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run } = await beginRun(harness.world, agent, {});
  const act = async () => expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
  await harness.runAttempt(agent, beforeCall(harness.world, "commit", act));
  expect(harness.row(run).status).toBe("running");
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
  expect(await heard(harness, run)).toEqual(["words w1"]);
});

test("schedule 13: time is up at a gate, an approval is acknowledged, the denial by expiry would commit", async () => {
  const harness = createChainHarness();
  const { run, gate, agent, decideAs, runs } = await gated(harness);
  harness.clock.moveTo(gate.expiresAt);
  const act = async () => expect(await decideAs("approve")).toMatchObject({ kind: "accepted" });
  await harness.runAttempt(agent, beforeCall(harness.world, "commit", act));
  await harness.runUntilIdle(agent);
  expect(runs()).toBe(1);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded" }]);
});

test("schedule 14: a paused run parks although it is paused, and resuming clears the pause and wakes it", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  await sendRequest(harness.world, { run, want: "pause" });
  expect(await harness.runUntilIdle(agent)).toBe(2);
  const { park, status } = harness.row(run);
  expect({ status, wakes: harness.wakes }).toEqual({ status: "paused", wakes: [] });
  expect(await sendRequest(harness.world, { run, want: "resume" })).toBe("requested");
  expect(harness.wakes).toEqual([park?.token]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", pause: false });
});

test("schedule 18: two operators answer *retry* to one question; the first is used and crashes, the second permits nothing", async () => {
  const harness = createChainHarness();
  const { run, agent, runs } = await blocked(harness);
  // Both have looked; one of them is slow.
  const slow = freezeBeforeCall(harness.world, "deliver");
  const second = reconcileAs(slow.world, run, "retry", "bob");
  await flushPromises();
  expect(await reconcileAs(harness.world, run, "retry")).toEqual({ kind: "accepted" });
  await dieInTool(harness, agent);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("blocked");
  slow.thaw();
  expect(await second).toMatchObject({ kind: "duplicate" });
  harness.clock.moveTo(harness.row(run).effectsSettleAt + harness.world.limits.settleMs);
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("blocked");
  expect(runs()).toBe(1);
  // Whoever asks for another try answers the second question.
  expect(await reconcileAs(harness.world, run, "retry", "bob")).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(runs()).toBe(2);
});

test("schedule 27: a message is absorbed, its item deleted and its ID dropped; its sender retries", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  const { run, born } = await beginRun(harness.world, agent, {});
  expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
  await harness.runAttempt(agent);
  await harness.runAttempt(agent);
  const { state } = await load(harness.world, harness.row(run), new SegmentCache());
  expect(state.absorbed).toEqual([]);
  expect(await harness.world.inbox.unread({ run, born, now: harness.clock.now(), limit: 9 })).toEqual([]);
  expect(await send(harness.world, words(run))).toEqual({ kind: "duplicate" });
  await harness.runUntilIdle(agent);
  expect(await heard(harness, run)).toEqual(["words w1"]);
});

test("schedule 29: a decision about another gate, or an answer to no question, displaces no valid one", async () => {
  const harness = createChainHarness();
  const { run, gate, agent, decideAs, runs } = await gated(harness);
  const { planHash } = gate;
  const wrong = gateId(harness.world.hash, {
    attempt: 1,
    call: "c1",
    planHash,
    argsHash: harness.world.hash("other arguments"),
  });
  expect(await decideAs("approve", wrong)).toEqual({ kind: "stale", gates: [gate.gate], why: null });
  expect(await reconcileAs(harness.world, run, "retry")).toEqual({ kind: "stale", unknown: [] });
  expect(harness.world.store.messages.size).toBe(0);
  expect(harness.row(run).wakeCount).toBe(0);
  await harness.runUntilIdle(agent);
  expect(runs()).toBe(0);
  expect(await decideAs("approve")).toMatchObject({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(runs()).toBe(1);
});

test("schedule 30: the answer that would release a blocked run arrives, and is read before the question exists", async () => {
  const harness = createChainHarness();
  const { run, agent, runs } = await blocked(harness);
  expect(await reconcileAs(harness.world, run, "retry")).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(runs()).toBe(2);
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 43: the deletion of an absorbed item is lost; its ID is kept until the item is deleted", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(2) });
  const { run } = await beginRun(harness.world, agent, {});
  await send(harness.world, words(run, "w1"));
  // The process that took it in could not delete it, and the next one is not heard.
  await harness.runAttempt(
    agent,
    wrapTableCall(harness.world, "clear", () => away),
  );
  await send(harness.world, words(run, "w2"));
  const lost = harness.startAttempt();
  const world = wrapTableCall(harness.world, "clear", () => neverSettles);
  void lost.perform({ world, agent });
  await flushPromises();
  lost.end(null);
  await harness.runUntilIdle(agent);
  expect(await heard(harness, run)).toEqual(["words w1", "words w2"]);
});

test("schedule 49: an operator reads a gate, it expires, and then the approval is delivered", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ approval: "always", run: neverSettles, reply: callsThenFinal(2) });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  const { state } = await load(harness.world, harness.row(run), new SegmentCache());
  const gate = state.open[0] && gateIn(state.open[0]);
  const slow = freezeBeforeCall(harness.world, "deliver");
  const said = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  const late = decide(slow.world, said);
  await flushPromises();
  harness.clock.moveTo(gate?.expiresAt ?? 0);
  await harness.runAttempt(agent);
  expect(harness.row(run).status).not.toBe("completed");
  slow.thaw();
  expect(await late).toMatchObject({ kind: "duplicate", decision: { as: "deny", by: "expiry" } });
  expect((await ledger(harness.world, run))?.[0]).toMatchObject({ status: "failed" });
});

test("schedule 84: a run is to restart; approvals are delivered before and after, and neither runs a call", async () => {
  const harness = createChainHarness();
  const { run, agent, gate, decideAs, runs } = await gated(harness);
  // Both have looked; one of them is slow.
  const slow = freezeBeforeCall(harness.world, "deliver");
  const said = { run, gate: gate.gate, as: "approve", args: null, by: "bob", note: null } as const;
  const late = decide(slow.world, said);
  await flushPromises();
  expect(await requestCompensation(harness.world, { run, next: "restart", by: "cyd" })).toBe("accepted");
  const { version } = harness.row(run);
  // Nothing of the run has moved yet: a person still sees the gate open.
  expect(await decideAs("approve")).toEqual({ kind: "accepted", stage: "waits" });
  expect(harness.row(run).version).toBe(version);
  await harness.runUntilIdle(agent);
  const [open] = (await show(harness.world, run))?.gates ?? [];
  expect(open?.gate).not.toBe(gate.gate);
  const told = { kind: "noEffect", why: expect.stringContaining("begin again"), gates: [open?.gate] };
  expect(await decideAs("approve")).toEqual(told);
  slow.thaw();
  expect(await late).toEqual(told);
  const ignored = ((await timeline(harness.world, { run, after: 0 })) ?? []).filter(
    ({ kind }) => kind === "DecisionIgnored",
  );
  expect(ignored).toMatchObject([{ gate: gate.gate, as: "approve", by: "ann" }]);
  expect(await show(harness.world, run)).toMatchObject({
    attempt: 2,
    ignoredDecision: { call: "c1", as: "approve", by: "ann" },
  });
  expect(runs()).toBe(0);
});

test("schedule 108: a run takes in a message and ends, and its process dies before it deletes the item", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run, born } = await beginRun(harness.world, agent, {});
  const body = { kind: "user", text: "use password=hunter2hunter2", by: "ann" } as const;
  // As it was written by a process that knows no secrets.
  const message = { id: "raw", sentAt: harness.clock.now(), body };
  const { deadline } = harness.row(run);
  await harness.world.inbox.deliver({ run, born, message, now: harness.clock.now(), deadline });
  const raw = (): boolean => JSON.stringify([...harness.world.store.messages.values()]).includes("hunter2hunter2");
  await harness.loseAttempt(
    agent,
    crashAfterCall(harness.world, "commit", ({ release }) => release),
  );
  expect(harness.row(run).status).toBe("completed");
  expect(raw()).toBe(true);
  await sweep(harness.world);
  expect(raw()).toBe(false);
  expect(harness.row(run)).toMatchObject({ endNotified: true });
  expect(await heard(harness, run)).toEqual(["use password=[redacted password]"]);
});
