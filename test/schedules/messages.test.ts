/**
 * Messages, wishes and decisions: each is taken in once and none is lost, wherever the run and its senders are.
 * More than 300 lines: one test for each schedule.
 */
import { expect, test } from "vitest";
import type { Answer, Decision } from "../../src/core/event.ts";
import { gateId } from "../../src/protocol/ids.ts";
import { decide } from "../../src/operations/decide.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { requestCompensation } from "../../src/operations/compensate.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { begin } from "../support/drive.ts";
import {
  OVER,
  type Stage,
  actor,
  beforeCommit,
  callsThenOver,
  chainedStage,
  never,
  replyOf,
  rowOf,
} from "../support/stage.ts";
import {
  dieInTool,
  dyingAfter,
  frozenBefore,
  hear,
  leave,
  meeting,
  lose,
  perform,
  playOut,
  rest,
  step,
  sweep,
} from "../support/steps.ts";

const say = (world: World, run: string, as: Answer["as"], by = "ann") =>
  reconcile(world, { run, call: "c1", as, result: null, by, note: null });

const words = (run: string, id = "w1") => ({ run, text: `words ${id}`, by: "ann", id });

const away = async (): Promise<never> => {
  throw new StoreUnreachable("the table is away");
};

const heard = async ({ world }: Stage, run: string): Promise<readonly string[]> =>
  ((await transcript(world, run)) ?? []).flatMap(({ source, parts }) =>
    source === "user:ann" ? parts.map((part) => (part.kind === "text" ? part.text : "")) : [],
  );

/** A run that is parked until somebody says what became of its unsafe call, and can be believed. */
async function blocked(on: Stage) {
  let runs = 1;
  const agent = actor({ effect: "unsafe", run: () => (runs += 1) });
  const { run, born } = await begin(on.world, agent, {});
  const key = await dieInTool(on, agent);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "blocked" });
  expect(rowOf(on, run).park).not.toBeNull();
  on.clock.moveTo(rowOf(on, run).effectsSettleAt + on.world.limits.settleMs);
  return { run, born, agent, key, runs: () => runs };
}

/** A run that waits at a gate. */
async function gated(on: Stage) {
  let runs = 0;
  const agent = actor({ approval: "always", run: () => (runs += 1) });
  const { run, born } = await begin(on.world, agent, {});
  await playOut(on, agent);
  const { state } = await load(on.world.objects, rowOf(on, run), new SegmentCache());
  const gate = state.open[0]?.gate;
  if (!gate) throw new Error("it waits at no gate");
  const decideAs = (as: Decision["as"], id = gate.gate) =>
    decide(on.world, { run, gate: id, as, args: null, by: "ann", note: null });
  return { run, born, agent, gate, decideAs, runs: () => runs };
}

test("schedule 10: a sender dies between its message and the wake; its retry counts nothing, and wakes", async () => {
  const on = chainedStage();
  const { run, agent } = await blocked(on);
  void say(dyingAfter(on.world, "deliver"), run, "succeeded");
  await rest();
  expect(rowOf(on, run).wakeCount).toBe(1);
  expect(on.wakes).toEqual([]);
  expect(await say(on.world, run, "succeeded")).toMatchObject({ kind: "duplicate" });
  expect(rowOf(on, run).wakeCount).toBe(1);
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
  // Before the run is parked there is nobody to wake: the park itself sees that somebody stirred.
  const payload = await begin(on.world, agent, {});
  await dieInTool(on, agent);
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "park" });
  void say(dyingAfter(on.world, "deliver"), payload.run, "succeeded");
  await rest();
  await playOut(on, agent);
  expect(rowOf(on, payload.run).status).toBe("completed");
});

test("schedule 11: a pause and a resume stir a blocked run without a message; it is not stirred for ever", async () => {
  const on = chainedStage();
  const { run, agent } = await blocked(on);
  for (const want of ["pause", "resume"] as const) expect(await sendRequest(on.world, { run, want })).toBe("requested");
  expect(rowOf(on, run)).toMatchObject({ wakeCount: 2, wakeCountSeen: 0 });
  // One beat sees both and parks again.
  expect(await playOut(on, agent)).toBe(2);
  expect(rowOf(on, run)).toMatchObject({ wakeCount: 2, wakeCountSeen: 2, status: "blocked" });
  expect(rowOf(on, run).park).not.toBeNull();
});

test("schedule 12: a message is acknowledged after the inbox is read and before the end commits", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => OVER });
  const { run } = await begin(on.world, agent, {});
  const act = async () => expect(await send(on.world, words(run))).toEqual({ kind: "delivered" });
  await step(on, agent, beforeCommit(on, { when: () => true, act }));
  expect(rowOf(on, run).status).toBe("running");
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
  expect(await heard(on, run)).toEqual(["words w1"]);
});

test("schedule 13: time is up at a gate, an approval is acknowledged, the denial by expiry would commit", async () => {
  const on = chainedStage();
  const { run, gate, agent, decideAs, runs } = await gated(on);
  on.clock.moveTo(gate.expiresAt);
  const act = async () => expect(await decideAs("approve")).toMatchObject({ kind: "accepted" });
  await step(on, agent, beforeCommit(on, { when: () => true, act }));
  await playOut(on, agent);
  expect(runs()).toBe(1);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "succeeded" }]);
});

test("schedule 14: a paused run parks although it is paused, and resuming clears the pause and wakes it", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  await sendRequest(on.world, { run, want: "pause" });
  expect(await playOut(on, agent)).toBe(2);
  const { park, status } = rowOf(on, run);
  expect([status, on.wakes]).toEqual(["paused", []]);
  expect(await sendRequest(on.world, { run, want: "resume" })).toBe("requested");
  expect(on.wakes).toEqual([park?.token]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", pause: false });
});

test("schedule 18: two say *retry* to one question; the first is used and crashes, the second permits nothing", async () => {
  const on = chainedStage();
  const { run, agent, runs } = await blocked(on);
  // Both have looked; one of them is slow.
  const slow = frozenBefore(on.world, "deliver");
  const second = say(slow.world, run, "retry", "bob");
  await rest();
  expect(await say(on.world, run, "retry")).toEqual({ kind: "accepted" });
  await dieInTool(on, agent);
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("blocked");
  slow.thaw();
  expect(await second).toMatchObject({ kind: "duplicate" });
  on.clock.moveTo(rowOf(on, run).effectsSettleAt + on.world.limits.settleMs);
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("blocked");
  expect(runs()).toBe(1);
  // Whoever asks for another try answers the second question.
  expect(await say(on.world, run, "retry", "bob")).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(runs()).toBe(2);
});

test("schedule 27: a message is absorbed, its item deleted and its id dropped; its sender tries again", async () => {
  const on = chainedStage();
  const agent = actor({ reply: callsThenOver(2) });
  const { run, born } = await begin(on.world, agent, {});
  expect(await send(on.world, words(run))).toEqual({ kind: "delivered" });
  await step(on, agent);
  await step(on, agent);
  const { state } = await load(on.world.objects, rowOf(on, run), new SegmentCache());
  expect(state.absorbed).toEqual([]);
  expect(await on.world.table.inbox({ run, born, now: on.clock.now(), limit: 9 })).toEqual([]);
  expect(await send(on.world, words(run))).toEqual({ kind: "duplicate" });
  await playOut(on, agent);
  expect(await heard(on, run)).toEqual(["words w1"]);
});

test("schedule 29: a decision about another gate, or an answer to no question, takes no good one's place", async () => {
  const on = chainedStage();
  const { run, gate, agent, decideAs, runs } = await gated(on);
  const { planHash } = gate;
  const wrong = gateId(on.world.hash, { attempt: 1, call: "c1", planHash, argsHash: on.world.hash("other arguments") });
  expect(await decideAs("approve", wrong)).toEqual({ kind: "stale", gates: [gate.gate], why: null });
  expect(await say(on.world, run, "retry")).toEqual({ kind: "stale", unknown: [] });
  expect(on.world.store.messages.size).toBe(0);
  expect(rowOf(on, run).wakeCount).toBe(0);
  await playOut(on, agent);
  expect(runs()).toBe(0);
  expect(await decideAs("approve")).toMatchObject({ kind: "accepted" });
  await playOut(on, agent);
  expect(runs()).toBe(1);
});

test("schedule 30: the answer that would release a blocked run comes, and is read before the question is seen", async () => {
  const on = chainedStage();
  const { run, agent, runs } = await blocked(on);
  expect(await say(on.world, run, "retry")).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(runs()).toBe(2);
  expect(rowOf(on, run).status).toBe("completed");
});

test("schedule 43: the deletion of an absorbed item is lost on its way; its id is not forgotten before", async () => {
  const on = chainedStage();
  const agent = actor({ reply: callsThenOver(2) });
  const { run } = await begin(on.world, agent, {});
  await send(on.world, words(run, "w1"));
  // The process that took it in could not delete it, and the next one is not heard.
  await step(
    on,
    agent,
    meeting(on.world, "clearInbox", () => away),
  );
  await send(on.world, words(run, "w2"));
  const lost = leave(on);
  const world = meeting(on.world, "clearInbox", () => never);
  void perform(lost.task, { world, agent });
  await rest();
  hear(on, lost, null);
  await playOut(on, agent);
  expect(await heard(on, run)).toEqual(["words w1", "words w2"]);
});

test("schedule 49: a person looks at a gate, it expires, and then their approval is delivered", async () => {
  const on = chainedStage();
  const agent = actor({ approval: "always", run: never, reply: callsThenOver(2) });
  const { run } = await begin(on.world, agent, {});
  await playOut(on, agent);
  const { state } = await load(on.world.objects, rowOf(on, run), new SegmentCache());
  const gate = state.open[0]?.gate;
  const slow = frozenBefore(on.world, "deliver");
  const said = { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "ann", note: null } as const;
  const late = decide(slow.world, said);
  await rest();
  on.clock.moveTo(gate?.expiresAt ?? 0);
  await step(on, agent);
  expect(rowOf(on, run).status).not.toBe("completed");
  slow.thaw();
  expect(await late).toMatchObject({ kind: "duplicate", decision: { as: "deny", by: "expiry" } });
  expect((await ledger(on.world, run))?.[0]).toMatchObject({ status: "failed" });
});

test("schedule 84: a run is to begin again; approvals are delivered before it does and after, and neither runs anything", async () => {
  const on = chainedStage();
  const { run, agent, gate, decideAs, runs } = await gated(on);
  // Both have looked; one of them is slow.
  const slow = frozenBefore(on.world, "deliver");
  const said = { run, gate: gate.gate, as: "approve", args: null, by: "bob", note: null } as const;
  const late = decide(slow.world, said);
  await rest();
  expect(await requestCompensation(on.world, { run, next: "restart", by: "cyd" })).toBe("accepted");
  const { version } = rowOf(on, run);
  // Nothing of the run has moved yet: a person still sees the gate open.
  expect(await decideAs("approve")).toEqual({ kind: "accepted", stage: "waits" });
  expect(rowOf(on, run).version).toBe(version);
  await playOut(on, agent);
  const [open] = (await show(on.world, run))?.gates ?? [];
  expect(open?.gate).not.toBe(gate.gate);
  const told = { kind: "noEffect", why: expect.stringContaining("begin again"), gates: [open?.gate] };
  expect(await decideAs("approve")).toEqual(told);
  slow.thaw();
  expect(await late).toEqual(told);
  const ignored = ((await timeline(on.world, { run, after: 0 })) ?? []).filter(
    ({ kind }) => kind === "DecisionIgnored",
  );
  expect(ignored).toMatchObject([{ gate: gate.gate, as: "approve", by: "ann" }]);
  expect(await show(on.world, run)).toMatchObject({
    attempt: 2,
    ignoredDecision: { call: "c1", as: "approve", by: "ann" },
  });
  expect(runs()).toBe(0);
});

test("schedule 108: a run takes in a message and ends, and its process dies before it deletes the item", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => OVER });
  const { run, born } = await begin(on.world, agent, {});
  const body = { kind: "user", text: "use password=hunter2hunter2", by: "ann" } as const;
  // As it was written by a process that knows no secrets.
  const message = { id: "raw", sentAt: on.clock.now(), body };
  const { deadline } = rowOf(on, run);
  await on.world.table.deliver({ run, born, message, now: on.clock.now(), deadline });
  const raw = (): boolean => JSON.stringify([...on.world.store.messages.values()]).includes("hunter2hunter2");
  await lose(
    on,
    agent,
    dyingAfter(on.world, "commit", ({ release }) => release),
  );
  expect(rowOf(on, run).status).toBe("completed");
  expect(raw()).toBe(true);
  await sweep(on.world);
  expect(raw()).toBe(false);
  expect(rowOf(on, run)).toMatchObject({ endNotified: true });
  expect(await heard(on, run)).toEqual(["use password=[redacted password]"]);
});
