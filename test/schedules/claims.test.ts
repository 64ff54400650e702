/** Who may drive a run: of all attempts that ever left, one; and of all incarnations of a name, the one that is there. */
import { gateIn } from "../../src/core/calls/held-calls.ts";
import { expect, test } from "vitest";
import { cleanUp } from "../../src/history/clean-up.ts";
import { decide } from "../../src/operations/decide.ts";
import { prepareCalls } from "../../src/engine/tools/prepare-calls.ts";
import { openCall } from "../../src/engine/tools/tools.ts";
import { SegmentCache, load } from "../../src/history/load.ts";
import { ledger, transcript } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { callPart, EVENT } from "../support/states/states-and-events.ts";
import { beginRun, cleanUpRemovedRuns, runnerOf } from "../support/harness/drive.ts";
import { expireKey } from "../support/runs/leftover-objects.ts";
import {
  scriptedAgent,
  createChainHarness,
  beatReply,
  performTask,
  flushPromises,
  MS,
} from "../support/harness/harness.ts";
import {
  withClockAhead,
  crashAfterCall,
  enterTool,
  freezeBeforeCall,
  startKeyedRun,
  claimAndLoad,
} from "../support/harness/chain-steps.ts";

test("schedule 1: attempt 0 is frozen before its claim, attempt 1 completes the beat, 0 thaws and is refused", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const first = harness.startAttempt();
  const frozen = freezeBeforeCall(crashAfterCall(harness.world, "claim"), "claim");
  void first.perform({ world: frozen.world, agent });
  first.end(null);
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "beat", epoch: 1 });
  const released = harness.row(run);
  frozen.thaw();
  await flushPromises();
  expect(harness.row(run)).toEqual(released);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0, endNotified: true });
});

test("schedule 2: a duplicate execution starts while the healthy one is parked, and is refused", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  await sendRequest(harness.world, { run, want: "pause" });
  await harness.runUntilIdle(agent);
  const parked = harness.row(run);
  expect(parked.park).not.toBeNull();
  await harness.world.chain.start("twin", payload);
  // Its first attempt dies before it claims, so that its retry is the higher one.
  harness.startAttempt().end(null);
  expect(await beatReply(harness.runAttempt(agent))).toMatchObject({ route: "superseded" });
  expect(harness.row(run)).toEqual(parked);
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 0 });
  const stages = [...harness.world.chain.executions.values()].map(({ stage }) => stage);
  expect(stages).toEqual(["ended", "ended"]);
});

test("schedule 19: a run expires and its key is used again; an old invocation and a late clean-up meet the new run", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const before = await startKeyedRun(harness.world, { agent, key: "k" });
  const { run } = before;
  const old = harness.startAttempt();
  const frozen = freezeBeforeCall(harness.world, "claim");
  const zombie = old.perform({ world: frozen.world, agent });
  old.end(null);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
  expireKey(harness, run);
  const fresh = await startKeyedRun(harness.world, { agent, key: "k" });
  expect(fresh.run).toBe(run);
  expect(fresh.born).not.toBe(before.born);
  frozen.thaw();
  expect(await beatReply(zombie)).toMatchObject({ route: "superseded" });
  await cleanUp(harness.world, before);
  expect(harness.row(run)).toEqual(fresh);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", born: fresh.born, takeovers: 0 });
  expect([...harness.world.store.objects.keys()].filter((key) => !key.includes(`/${fresh.born}/`))).toEqual([]);
});

test("schedule 21: a booking is cancelled, its run restarts, and the airline gets another request", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const payload = await beginRun(harness.world, agent, {});
  /** Answers a key that it knows with what it holds under it, as airlines do. */
  const bookings = new Map<string, "booked" | "cancelled">();
  const book = (key: string): string => {
    if (!bookings.has(key)) bookings.set(key, "booked");
    return String(bookings.get(key));
  };
  const keys: string[] = [];
  for (const restart of [1, 2]) {
    const active = await claimAndLoad(harness, { payload, retry: restart, restart });
    for (const event of [EVENT.started, EVENT.replied([callPart("act")])]) active.record(event);
    const { agentOf } = runnerOf(harness.world, agent);
    await prepareCalls(active, { agent, agentOf, refusalOf: () => Promise.resolve(null) }, ["c1"]);
    const key = openCall(active, "c1").intent?.key ?? "";
    expect(book(key)).toBe("booked");
    bookings.set(key, "cancelled");
    keys.push(key);
  }
  expect(new Set(keys).size).toBe(2);
});

test("schedule 23: clocks differ by more than the margin, and every rule without a clock holds", async () => {
  const harness = createChainHarness();
  const keys: string[] = [];
  const agent = scriptedAgent({ run: ({ key }) => keys.push(key), approval: "always" });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runUntilIdle(agent);
  expect(keys).toEqual([]);
  const [call] = (await load(harness.world, harness.row(run), new SegmentCache())).state.open;
  const gate = (call && gateIn(call)?.gate) ?? "";
  const said = { run, gate, as: "approve", args: null, by: "ann", note: null } as const;
  expect(await decide(harness.world, said)).toMatchObject({ kind: "accepted" });
  const owner = await enterTool(harness, agent);
  owner.out.end(null);
  // To the next one the owner's lease and quiet are over, while the owner is alive.
  const fast = withClockAhead(harness.world, 10 * (MS.beat + MS.skew));
  const frozen = freezeBeforeCall(fast, "commit");
  const next = harness.startAttempt();
  const taken = next.perform({ world: frozen.world, agent });
  await flushPromises();
  const { version, epoch, effectsSettleAt } = harness.row(run);
  expect(effectsSettleAt).toBeLessThan(fast.clock.now());
  // The owner acts, and writes nothing.
  keys.push(owner.key);
  owner.thaw("acted");
  expect(await beatReply(owner.result)).toMatchObject({ route: "superseded" });
  expect(harness.row(run)).toMatchObject({ version, epoch });
  expect(await send(fast, { run, text: "hurry", by: "ann", id: "w1" })).toEqual({ kind: "delivered" });
  frozen.thaw();
  next.end(await taken);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", endNotified: true });
  // The other side hears one key, and counts one effect.
  expect(keys).toEqual([owner.key, owner.key]);
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "succeeded" }]);
  expect(harness.row(run).spent.toolCalls).toBe(1);
  const heard = (await transcript(harness.world, run))?.filter(({ source }) => source === "user:ann");
  expect(heard).toHaveLength(1);
});

test("schedule 32: an expired row that is not deleted yet is not overwritten: it is removed first, as itself", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run, born } = await startKeyedRun(harness.world, { agent, key: "k" });
  const words = { run, text: "hello", by: "ann", id: "w1" };
  expect(await send(harness.world, words)).toEqual({ kind: "delivered" });
  await harness.runUntilIdle(agent);
  expireKey(harness, run);
  expect(harness.world.store.rows.get(run)?.born).toBe(born);
  const next = await startKeyedRun(harness.world, { agent, key: "k" });
  expect(harness.world.store.removed).toEqual([{ run, born }]);
  expect(await send(harness.world, words)).toEqual({ kind: "delivered" });
  await cleanUpRemovedRuns(harness.world, (task) => performTask(task, { world: harness.world, agent }));
  expect([...harness.world.store.objects.keys()].filter((key) => key.includes(`/${born}/`))).toEqual([]);
  expect([...harness.world.store.messages.values()].map(({ of }) => of.born)).toEqual([next.born]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", born: next.born });
});
