/** Writes whose answers do not come, or come too late: only ever the same write again, and one's own work recognised. */
import { expect, test } from "vitest";
import { executionName } from "../../src/protocol/ids.ts";
import type { Commit } from "../../src/protocol/row.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";
import { deliver } from "../../src/engine/context/inbox.ts";
import { timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import { answer } from "../support/states/states-and-events.ts";
import { worldOverNetwork } from "../support/faults/lossy-network.ts";
import { beginRun } from "../support/harness/drive.ts";
import {
  FINAL_REPLY,
  scriptedAgent,
  createChainHarness,
  beatReply,
  type StartedAttempt,
  MS,
} from "../support/harness/harness.ts";
import { dieInTool, wrapTableCall, recoveryRulesOf, beforeCall } from "../support/harness/chain-steps.ts";

const DONE = { status: "completed", takeovers: 0, endNotified: true };

test("schedule 6: a commit gets status 500 and is not applied, and does not count as fenced", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const unreliable = worldOverNetwork(harness.world, "commit", { fates: ["lost"] });
  expect(await beatReply(harness.runAttempt(agent, unreliable.world))).toMatchObject({ route: "beat" });
  expect(unreliable.sent[1]).toEqual(unreliable.sent[0]);
  expect(harness.row(run)).toMatchObject({ owner: null, version: 2 });
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject(DONE);
});

test("schedule 7: a claim is applied and its response lost; its copy is refused by the first, and recognised as its own", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const unreliable = worldOverNetwork(harness.world, "claim", { fates: ["unanswered"] });
  expect(await beatReply(harness.runAttempt(agent, unreliable.world))).toMatchObject({ route: "beat", epoch: 1 });
  expect(unreliable.sent).toHaveLength(2);
  expect(await recoveryRulesOf(harness.world, run)).toEqual([]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject(DONE);
});

test("schedule 8: a commit is in flight while a message arrives; nothing else is sent for its version", async () => {
  for (const fate of ["before the next", "after the next"] as const) {
    const harness = createChainHarness();
    const agent = scriptedAgent({});
    const { run, born } = await beginRun(harness.world, agent, {});
    const body = { kind: "reconcile", call: "c9", question: 1, answer: answer("retry") } as const;
    const meanwhile = () => deliver(harness.world, { run, born, message: { id: "m1", sentAt: 1, body } });
    const unreliable = worldOverNetwork(harness.world, "commit", { fates: [fate], meanwhile });
    expect(await beatReply(harness.runAttempt(agent, unreliable.world))).toMatchObject({ route: "beat" });
    expect(unreliable.sent[1]).toEqual(unreliable.sent[0]);
    expect(harness.row(run)).toMatchObject({ wakeCount: 1, wakeCountSeen: 0, version: 2 });
    await harness.runUntilIdle(agent);
    expect(harness.row(run)).toMatchObject(DONE);
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    const stages = events.flatMap((event) => (event.kind === "MessageAbsorbed" ? [event.stage] : []));
    expect(stages.filter((stage) => stage === "taken")).toHaveLength(1);
  }
});

test("schedule 16: the response of a park is lost, and another attempt's token is not taken for its own", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ effect: "unsafe" });
  const { run } = await beginRun(harness.world, agent, {});
  await dieInTool(harness, agent);
  await harness.runAttempt(agent);
  const first = harness.startAttempt();
  expect(first.task.kind).toBe("park");
  let second: StartedAttempt | null = null;
  const meanwhile = async (): Promise<void> => {
    first.end(null);
    second = harness.startAttempt();
    second.end(await second.perform({ world: harness.world, agent }));
  };
  const unreliable = worldOverNetwork(harness.world, "park", { fates: ["lost"], meanwhile });
  await first.perform({ world: unreliable.world, agent });
  const tokens = [first, second as StartedAttempt | null].map((out) =>
    out?.task.kind === "park" ? out.task.token : "",
  );
  // It wakes whoever waits on what it could not store.
  expect(harness.wakes).toEqual([tokens[0]]);
  expect(harness.row(run)).toMatchObject({ park: { token: tokens[1] } });
  const said = { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null } as const;
  expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("completed");
});

test("schedule 17: an end is refused because of a wake-up, and the next snapshot of the version has other bytes", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run } = await beginRun(harness.world, agent, {});
  const words = { run, text: "one more thing", by: "ann", id: "w1" };
  const world = beforeCall(harness.world, "commit", () => send(harness.world, words));
  expect(await beatReply(harness.runAttempt(agent, world))).toMatchObject({ route: "beat" });
  const puts = [...harness.world.store.objects.keys()].filter((key) => key.includes("/snapshots/00000001-000001-"));
  expect(puts).toHaveLength(2);
  expect(harness.row(run).snapshot.key).toBe(puts[1]);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject(DONE);
  expect(JSON.stringify(await transcript(harness.world, run))).toContain("one more thing");
});

test("schedule 37: a claim is applied late and refuses its own copy, which is recognised", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({});
  const { run } = await beginRun(harness.world, agent, {});
  const unreliable = worldOverNetwork(harness.world, "claim", { fates: ["before the next", "before the next"] });
  expect(await beatReply(harness.runAttempt(agent, unreliable.world))).toMatchObject({ route: "beat", epoch: 1 });
  expect(unreliable.sent).toHaveLength(3);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject(DONE);
});

test("schedule 47: a commit is applied, its response lost, another attempt claims: it does not continue under that epoch", async () => {
  const harness = createChainHarness();
  let runs = 0;
  const agent = scriptedAgent({ run: () => (runs += 1) });
  const { run, born, chain } = await beginRun(harness.world, agent, {});
  const first = harness.startAttempt();
  const rival = { execution: executionName(run, born, chain), epoch: 0, retry: 1 };
  let copies = 0;
  const world = wrapTableCall(harness.world, "commit", (commit) => async (asked: Commit) => {
    const outcome = await commit(asked);
    copies += 1;
    if (copies > 1) return outcome;
    const now = harness.clock.now();
    await harness.world.table.decide(
      { run, born, chain, entry: rival, owner: "rival", leaseUntil: now + MS.beat, now },
      CLAIM,
    );
    return { kind: "ambiguous", why: "the answer was lost" };
  });
  expect(await beatReply(first.perform({ world, agent }))).toMatchObject({ route: "superseded" });
  expect(runs).toBe(0);
  expect(harness.row(run)).toMatchObject({ epoch: 2, owner: "rival", version: 1 });
  // The rival dies, and whoever comes after it does what that commit released.
  first.end(null);
  harness.startAttempt().end(null);
  await harness.runUntilIdle(agent);
  expect(runs).toBe(1);
  expect(harness.row(run)).toMatchObject({ status: "completed", takeovers: 2 });
});
