/** Who may drive a run: of all attempts that ever left, one; and of all incarnations of a name, the one that is there. */
import { expect, test } from "vitest";
import { cleanUp } from "../../src/history/clean-up.ts";
import { decide } from "../../src/operations/decide.ts";
import { prepareCalls } from "../../src/engine/tools/prepare-calls.ts";
import { openCall } from "../../src/engine/tools/tools.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { ledger, transcript } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { calls, replied, startedEvent } from "../support/build.ts";
import { begin, cleanRemoved } from "../support/drive.ts";
import { keyExpires } from "../support/remains.ts";
import { BEAT_MS, SKEW_MS, actor, chainedStage, replyOf, rowOf } from "../support/stage.ts";
import {
  ahead,
  dyingAfter,
  enterTool,
  frozenBefore,
  hear,
  leave,
  perform,
  playOut,
  rest,
  start,
  step,
  takeUp,
} from "../support/steps.ts";

test("schedule 1: attempt 0 is frozen before its claim, attempt 1 does the beat, 0 thaws and would die", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const first = leave(on);
  const frozen = frozenBefore(dyingAfter(on.world, "claim"), "claim");
  void perform(first.task, { world: frozen.world, agent });
  hear(on, first, null);
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "beat", epoch: 1 });
  const released = rowOf(on, run);
  frozen.thaw();
  await rest();
  expect(rowOf(on, run)).toEqual(released);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 0, endNotified: true });
});

test("schedule 2: a duplicate execution comes while the healthy one is parked, and does not take its turn", async () => {
  const on = chainedStage();
  const agent = actor({});
  const payload = await begin(on.world, agent, {});
  const { run } = payload;
  await sendRequest(on.world, { run, want: "pause" });
  await playOut(on, agent);
  const parked = rowOf(on, run);
  expect(parked.park).not.toBeNull();
  await on.world.chain.start("twin", payload);
  // Its first attempt dies before it claims, so that its retry is the higher one.
  hear(on, leave(on), null);
  expect(await replyOf(step(on, agent))).toMatchObject({ route: "superseded" });
  expect(rowOf(on, run)).toEqual(parked);
  await sendRequest(on.world, { run, want: "resume" });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 0 });
  const stages = [...on.world.chain.executions.values()].map(({ stage }) => stage);
  expect(stages).toEqual(["ended", "ended"]);
});

test("schedule 19: a run expires, its key is used again; an old invocation and a late clean-up meet the new run", async () => {
  const on = chainedStage();
  const agent = actor({});
  const before = await start(on.world, { agent, key: "k" });
  const { run } = before;
  const old = leave(on);
  const frozen = frozenBefore(on.world, "claim");
  const zombie = perform(old.task, { world: frozen.world, agent });
  hear(on, old, null);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
  keyExpires(on, run);
  const fresh = await start(on.world, { agent, key: "k" });
  expect(fresh.run).toBe(run);
  expect(fresh.born).not.toBe(before.born);
  frozen.thaw();
  expect(await replyOf(zombie)).toMatchObject({ route: "superseded" });
  await cleanUp(on.world, before);
  expect(rowOf(on, run)).toEqual(fresh);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", born: fresh.born, takeovers: 0 });
  expect([...on.world.store.objects.keys()].filter((key) => !key.includes(`/${fresh.born}/`))).toEqual([]);
});

test("schedule 21: a booking is cancelled, its run begins anew, and the airline is asked again", async () => {
  const on = chainedStage();
  const agent = actor({});
  const payload = await begin(on.world, agent, {});
  /** Answers a key that it knows with what it holds under it, as airlines do. */
  const bookings = new Map<string, "booked" | "cancelled">();
  const book = (key: string): string => {
    if (!bookings.has(key)) bookings.set(key, "booked");
    return String(bookings.get(key));
  };
  const keys: string[] = [];
  for (const attempt of [1, 2]) {
    const active = await takeUp(on, { payload, retry: attempt, attempt });
    for (const event of [startedEvent, replied([calls("act")])]) active.record(event);
    await prepareCalls(active, agent, ["c1"]);
    const key = openCall(active, "c1").intent?.key ?? "";
    expect(book(key)).toBe("booked");
    bookings.set(key, "cancelled");
    keys.push(key);
  }
  expect(new Set(keys).size).toBe(2);
});

test("schedule 23: clocks differ by more than the margin, and what needs no clock holds", async () => {
  const on = chainedStage();
  const keys: string[] = [];
  const agent = actor({ run: ({ key }) => keys.push(key), approval: "always" });
  const { run } = await begin(on.world, agent, {});
  await playOut(on, agent);
  expect(keys).toEqual([]);
  const gate = (await load(on.world.objects, rowOf(on, run), new SegmentCache())).state.open[0]?.gate?.gate ?? "";
  const said = { run, gate, as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(on.world, said)).toMatchObject({ kind: "accepted" });
  const owner = await enterTool(on, agent);
  hear(on, owner.out, null);
  // To the next one the owner's lease and quiet are over, while the owner is alive.
  const fast = ahead(on.world, 10 * (BEAT_MS + SKEW_MS));
  const frozen = frozenBefore(fast, "commit");
  const next = leave(on);
  const taken = perform(next.task, { world: frozen.world, agent });
  await rest();
  const { version, epoch, effectsSettleAt } = rowOf(on, run);
  expect(effectsSettleAt).toBeLessThan(fast.clock.now());
  // The owner acts, and writes nothing.
  keys.push(owner.key);
  owner.thaw("acted");
  expect(await replyOf(owner.result)).toMatchObject({ route: "superseded" });
  expect(rowOf(on, run)).toMatchObject({ version, epoch });
  expect(await send(fast, { run, text: "hurry", by: "ann", id: "w1" })).toEqual({ kind: "delivered" });
  frozen.thaw();
  hear(on, next, await taken);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", endNotified: true });
  // The other side hears one key, and counts one effect.
  expect(keys).toEqual([owner.key, owner.key]);
  expect(await ledger(on.world, run)).toMatchObject([{ status: "succeeded" }]);
  expect(rowOf(on, run).spent.toolCalls).toBe(1);
  const heard = (await transcript(on.world, run))?.filter(({ source }) => source === "user:ann");
  expect(heard).toHaveLength(1);
});

test("schedule 32: an expired row that nobody deleted yet is not overwritten: it goes first, as itself", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run, born } = await start(on.world, { agent, key: "k" });
  const words = { run, text: "hello", by: "ann", id: "w1" };
  expect(await send(on.world, words)).toEqual({ kind: "delivered" });
  await playOut(on, agent);
  keyExpires(on, run);
  expect(on.world.store.rows.get(run)?.born).toBe(born);
  const next = await start(on.world, { agent, key: "k" });
  expect(on.world.store.removed).toEqual([{ run, born }]);
  expect(await send(on.world, words)).toEqual({ kind: "delivered" });
  await cleanRemoved(on.world, (task) => perform(task, { world: on.world, agent }));
  expect([...on.world.store.objects.keys()].filter((key) => key.includes(`/${born}/`))).toEqual([]);
  expect([...on.world.store.messages.values()].map(({ of }) => of.born)).toEqual([next.born]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", born: next.born });
});
