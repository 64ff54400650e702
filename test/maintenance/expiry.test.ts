/** A waiting run without any message ends at its deadline and not before; a message extends its deadline. */
import { describe, expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { attempt, begin, drive, runnerOf } from "../support/drive.ts";
import { type Room, change, isTold, room, supervise } from "../support/supervise.ts";
import { SKEW_MS, actor, beforeCommit, dieInTool, replyOf, rowOf } from "../support/stage.ts";

type Kind = "paused" | "blocked";

/** A run that waits for an operator, driven by the chain; `payload` is that of its next beat. */
async function waiting(on: Room, kind: Kind) {
  const agent = actor({ effect: "unsafe" });
  const payload = await begin(on.world, agent, {});
  const { run } = payload;
  if (kind === "paused") await sendRequest(on.world, { run, want: "pause" });
  else await dieInTool(on, { payload, agent });
  const reply = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
  expect(reply.route).toBe("park");
  expect(rowOf(on, run).status).toBe(kind);
  return { agent, runner: runnerOf(on.world, agent), run, payload: reply };
}

const failureOf = async (on: Room, run: string) => (await show(on.world, run))?.failure?.code;
const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });

describe.each(["paused", "blocked"] as const)("a %s run", (kind) => {
  test("without any message ends as Expired at its deadline and not before", async () => {
    const on = room();
    const { run, runner, payload } = await waiting(on, kind);
    const { deadline } = rowOf(on, run);
    expect(deadline).toBe(on.clock.now() + on.world.limits.idleRunMs);
    expect(payload.seconds).toBe(on.world.limits.idleRunMs / 1_000);
    // The chain's clock may be ahead by the maximum skew.
    on.clock.moveTo(deadline - SKEW_MS - 1);
    const early = await replyOf(attempt(runner, payload));
    expect(early.route).toBe("park");
    expect(rowOf(on, run).status).toBe(kind);
    on.clock.moveTo(rowOf(on, run).deadline);
    expect(await replyOf(attempt(runner, early))).toMatchObject({ route: "failed" });
    expect(rowOf(on, run)).toMatchObject({ status: "failed", endNotified: true });
    expect(await failureOf(on, run)).toBe("Expired");
  });

  test("parked until its deadline ends then, however long its last snapshot took", async () => {
    const on = room();
    const agent = actor({ effect: "unsafe" });
    const { run } = await begin(on.world, agent, {});
    if (kind === "paused") await sendRequest(on.world, { run, want: "pause" });
    const put: World["objects"]["put"] = (key, bytes) => {
      // A slow store.
      on.clock.moveTo(on.clock.now() + 1_500);
      return on.world.objects.put(key, bytes);
    };
    const slow = { ...on.world, objects: { ...on.world.objects, put } };
    if (kind === "blocked") {
      await dieInTool(on, {
        payload: { run, born: rowOf(on, run).born, chain: 1, epoch: 0, agent: agent.name },
        agent,
      });
      const name = [...on.world.chain.executions.keys()][0] ?? "";
      on.world.chain.end(name, on.world.chain.begin(name).attempt, null);
    }
    const parked = await supervise(on, { agent, run, world: slow, until: ({ park }) => park !== null });
    expect(parked.status).toBe(kind);
    const ended = await supervise(on, { agent, run, world: slow, until: isTold });
    expect(ended.status).toBe("failed");
    expect(await failureOf(on, run)).toBe("Expired");
    expect(on.clock.now() - parked.deadline).toBeLessThan(10_000);
    // It did not park a second time.
    expect(ended.version).toBe(parked.version + 1);
  });

  test("gets a full new deadline with each message", async () => {
    const on = room();
    const { run, runner, payload } = await waiting(on, kind);
    const { deadline, wakeAt } = rowOf(on, run);
    expect(wakeAt).toBe(deadline);
    on.clock.moveTo(deadline - 1_000_000);
    expect(await send(on.world, words(run))).toEqual({ kind: "delivered" });
    const later = on.clock.now() + on.world.limits.idleRunMs;
    expect(rowOf(on, run).deadline).toBe(later);
    // It is woken late, after the first deadline and before the second one.
    on.clock.moveTo(deadline + 1);
    const reply = await replyOf(attempt(runner, payload));
    expect(reply.route).toBe("park");
    expect(rowOf(on, run)).toMatchObject({ status: kind, deadline: on.clock.now() + on.world.limits.idleRunMs });
  });

  test("whose owner is fenced when it expires waits until that owner cannot act any more", async () => {
    const on = room();
    const { run, runner, payload } = await waiting(on, kind);
    on.clock.moveTo(rowOf(on, run).deadline);
    const effectsSettleAt = on.clock.now() + 5_000;
    change(on, { run }, { effectsSettleAt });
    const reply = await replyOf(attempt(runner, payload));
    expect(reply).toMatchObject({ route: "wait", seconds: 5 });
    on.clock.moveTo(effectsSettleAt);
    expect(await replyOf(attempt(runner, reply))).toMatchObject({ route: "failed" });
    expect(await failureOf(on, run)).toBe("Expired");
  });

  test("absorbs a message that arrives right before its end commits, and does not end", async () => {
    const on = room();
    const { run, agent, payload } = await waiting(on, kind);
    on.clock.moveTo(rowOf(on, run).deadline);
    const act = () => send(on.world, words(run));
    const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
    const reply = await replyOf(attempt(runnerOf(world, agent), payload));
    expect(reply.route).toBe("beat");
    const parked = await replyOf(attempt(runnerOf(on.world, agent), reply));
    expect(parked.route).toBe("park");
    expect(rowOf(on, run)).toMatchObject({ status: kind, deadline: on.clock.now() + on.world.limits.idleRunMs });
    if (kind === "paused") await sendRequest(on.world, { run, want: "resume" });
    else {
      const said = { run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
      expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
    }
    expect(await drive(runnerOf(on.world, agent), parked)).toMatchObject({ route: "done" });
    expect(JSON.stringify(await transcript(on.world, run))).toContain("take the train");
    const events = (await timeline(on.world, { run, after: 0 })) ?? [];
    expect(events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken")).toHaveLength(
      kind === "paused" ? 1 : 2,
    );
  });

  test("is cancelled when the cancel arrives right before it expires", async () => {
    const on = room();
    const { run, agent, payload } = await waiting(on, kind);
    on.clock.moveTo(rowOf(on, run).deadline);
    const act = () => sendRequest(on.world, { run, want: "cancel" });
    const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    expect(rowOf(on, run).status).toBe("cancelled");
  });
});

test("a blocked run accepts an answer that arrives right before it expires", async () => {
  const on = room();
  const { run, agent, payload } = await waiting(on, "blocked");
  on.clock.moveTo(rowOf(on, run).deadline);
  const said = { run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
  const act = async () => expect(await reconcile(on.world, said)).toEqual({ kind: "accepted" });
  const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(rowOf(on, run).status).toBe("completed");
  expect(await ledger(on.world, run)).toMatchObject([{ status: "reconciled" }]);
});

test("a run that is resumed right before it expires continues", async () => {
  const on = room();
  const { run, agent, payload } = await waiting(on, "paused");
  on.clock.moveTo(rowOf(on, run).deadline);
  const act = () => sendRequest(on.world, { run, want: "resume" });
  const world = beforeCommit(on, { when: ({ unlessWoken }) => unlessWoken, act });
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(rowOf(on, run).status).toBe("completed");
});

test("unread messages of a paused run do not keep it alive, and its end absorbs them", async () => {
  const on = room();
  const { run, runner, payload } = await waiting(on, "paused");
  await send(on.world, words(run));
  const parked = await replyOf(attempt(runner, payload));
  expect(parked.route).toBe("park");
  on.clock.moveTo(rowOf(on, run).deadline);
  expect(await replyOf(attempt(runner, parked))).toMatchObject({ route: "failed" });
  expect(await failureOf(on, run)).toBe("Expired");
  expect((await transcript(on.world, run))?.at(-1)).toMatchObject({ source: "user:ann" });
});
