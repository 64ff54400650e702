/** Writes whose answers do not come, or come too late: only ever the same write again, and one's own work recognised. */
import { expect, test } from "vitest";
import { executionName } from "../../src/protocol/ids.ts";
import type { Commit } from "../../src/protocol/row.ts";
import { deliver } from "../../src/engine/context/inbox.ts";
import { timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { send } from "../../src/operations/steer.ts";
import { answer } from "../support/build.ts";
import { worldOver } from "../support/build-network.ts";
import { begin } from "../support/drive.ts";
import { BEAT_MS, OVER, actor, beforeCommit, chainedStage, replyOf, rowOf } from "../support/stage.ts";
import { type Out, dieInTool, hear, leave, meeting, perform, playOut, rulesOf, step } from "../support/steps.ts";

const DONE = { status: "completed", takeovers: 0, endNotified: true };

test("schedule 6: a commit is answered 500 and not applied, and is not taken for fenced", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const unreliable = worldOver(on.world, "commit", { fates: ["lost"] });
  expect(await replyOf(step(on, agent, unreliable.world))).toMatchObject({ route: "beat" });
  expect(unreliable.sent[1]).toEqual(unreliable.sent[0]);
  expect(rowOf(on, run)).toMatchObject({ owner: null, version: 2 });
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject(DONE);
});

test("schedule 7: a claim is applied and its answer lost; its copy is refused by the first, which is its own", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const unreliable = worldOver(on.world, "claim", { fates: ["unanswered"] });
  expect(await replyOf(step(on, agent, unreliable.world))).toMatchObject({ route: "beat", epoch: 1 });
  expect(unreliable.sent).toHaveLength(2);
  expect(await rulesOf(on.world, run)).toEqual([]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject(DONE);
});

test("schedule 8: a commit is under way while a message comes; nothing else is sent for its version", async () => {
  for (const fate of ["before the next", "after the next"] as const) {
    const on = chainedStage();
    const agent = actor({});
    const { run, born } = await begin(on.world, agent, {});
    const body = { kind: "reconcile", call: "c9", asked: 1, answer: answer("retry") } as const;
    const meanwhile = () => deliver(on.world, { run, born, message: { id: "m1", sentAt: 1, body } });
    const unreliable = worldOver(on.world, "commit", { fates: [fate], meanwhile });
    expect(await replyOf(step(on, agent, unreliable.world))).toMatchObject({ route: "beat" });
    expect(unreliable.sent[1]).toEqual(unreliable.sent[0]);
    expect(rowOf(on, run)).toMatchObject({ wakeCount: 1, wakeCountSeen: 0, version: 2 });
    await playOut(on, agent);
    expect(rowOf(on, run)).toMatchObject(DONE);
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    const stages = events.flatMap((event) => (event.kind === "MessageAbsorbed" ? [event.stage] : []));
    expect(stages.filter((stage) => stage === "taken")).toHaveLength(1);
  }
});

test("schedule 16: the answer of a park is lost, and another attempt's token is not taken for its own", async () => {
  const on = chainedStage();
  const agent = actor({ effect: "unsafe" });
  const { run } = await begin(on.world, agent, {});
  await dieInTool(on, agent);
  await step(on, agent);
  const first = leave(on);
  expect(first.task.kind).toBe("park");
  let second: Out | null = null;
  const meanwhile = async (): Promise<void> => {
    hear(on, first, null);
    second = leave(on);
    hear(on, second, await perform(second.task, { world: on.world, agent }));
  };
  const unreliable = worldOver(on.world, "park", { fates: ["lost"], meanwhile });
  await perform(first.task, { world: unreliable.world, agent });
  const tokens = [first, second as Out | null].map((out) => (out?.task.kind === "park" ? out.task.token : ""));
  // It wakes whoever waits on what it could not store.
  expect(on.wakes).toEqual([tokens[0]]);
  expect(rowOf(on, run)).toMatchObject({ park: { token: tokens[1] } });
  const said = { run, call: "c1", as: "succeeded", result: null, by: "ann", note: null } as const;
  expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("completed");
});

test("schedule 17: an end is put and stirred, and what is put then for the same version has other bytes", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => OVER });
  const { run } = await begin(on.world, agent, {});
  const words = { run, text: "one more thing", by: "ann", id: "w1" };
  const world = beforeCommit(on, { when: () => true, act: () => send(on.world, words) });
  expect(await replyOf(step(on, agent, world))).toMatchObject({ route: "beat" });
  const puts = [...on.world.store.objects.keys()].filter((key) => key.includes("/snapshots/00000001-000001-"));
  expect(puts).toHaveLength(2);
  expect(rowOf(on, run).snapshot.key).toBe(puts[1]);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject(DONE);
  expect(JSON.stringify(await transcript(on.world, run))).toContain("one more thing");
});

test("schedule 37: a claim lands late and refuses the copy that was sent again, which is its own", async () => {
  const on = chainedStage();
  const agent = actor({});
  const { run } = await begin(on.world, agent, {});
  const unreliable = worldOver(on.world, "claim", { fates: ["before the next", "before the next"] });
  expect(await replyOf(step(on, agent, unreliable.world))).toMatchObject({ route: "beat", epoch: 1 });
  expect(unreliable.sent).toHaveLength(3);
  await playOut(on, agent);
  expect(rowOf(on, run)).toMatchObject(DONE);
});

test("schedule 47: a commit is applied, its answer lost, another one claims: it does not go on under that epoch", async () => {
  const on = chainedStage();
  let runs = 0;
  const agent = actor({ run: () => (runs += 1) });
  const { run, born, chain } = await begin(on.world, agent, {});
  const first = leave(on);
  const rival = { execution: executionName(run, born, chain), epoch: 0, retry: 1 };
  let copies = 0;
  const world = meeting(on.world, "commit", (commit) => async (asked: Commit) => {
    const outcome = await commit(asked);
    copies += 1;
    if (copies > 1) return outcome;
    const now = on.clock.now();
    await on.world.table.claim({ run, born, chain, entry: rival, owner: "rival", leaseUntil: now + BEAT_MS, now });
    return { kind: "ambiguous", why: "the answer was lost" };
  });
  expect(await replyOf(perform(first.task, { world, agent }))).toMatchObject({ route: "superseded" });
  expect(runs).toBe(0);
  expect(rowOf(on, run)).toMatchObject({ epoch: 2, owner: "rival", version: 1 });
  // The rival dies, and whoever comes after it does what that commit released.
  hear(on, first, null);
  hear(on, leave(on), null);
  await playOut(on, agent);
  expect(runs).toBe(1);
  expect(rowOf(on, run)).toMatchObject({ status: "completed", takeovers: 2 });
});
