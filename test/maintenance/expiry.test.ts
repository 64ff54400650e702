/** A waiting run without any message ends at its deadline and not before; a message extends its deadline. */
import { describe, expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  type SupervisedHarness,
  changeRow,
  isEndNotified,
  createSupervisedHarness,
  driveUntil,
} from "../support/harness/supervised-harness.ts";
import { SKEW_MS, scriptedAgent, beforeCommit, dieInTool, beatReply, rowOf } from "../support/harness/harness.ts";

type Kind = "paused" | "blocked";

/** A run that waits for an operator, driven by the chain; `payload` is that of its next beat. */
async function waiting(harness: SupervisedHarness, kind: Kind) {
  const agent = scriptedAgent({ effect: "unsafe" });
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  if (kind === "paused") await sendRequest(harness.world, { run, want: "pause" });
  else await dieInTool(harness, { payload, agent });
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
  expect(reply.route).toBe("park");
  expect(rowOf(harness, run).status).toBe(kind);
  return { agent, runner: runnerOf(harness.world, agent), run, payload: reply };
}

const failureOf = async (harness: SupervisedHarness, run: string) => (await show(harness.world, run))?.failure?.code;
const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });

describe.each(["paused", "blocked"] as const)("a %s run", (kind) => {
  test("without any message ends as Expired at its deadline and not before", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { deadline } = rowOf(harness, run);
    expect(deadline).toBe(harness.clock.now() + harness.world.limits.idleRunMs);
    expect(payload.seconds).toBe(harness.world.limits.idleRunMs / 1_000);
    // The chain's clock may be ahead by the maximum skew.
    harness.clock.moveTo(deadline - SKEW_MS - 1);
    const early = await beatReply(attemptBeat(runner, payload));
    expect(early.route).toBe("park");
    expect(rowOf(harness, run).status).toBe(kind);
    harness.clock.moveTo(rowOf(harness, run).deadline);
    expect(await beatReply(attemptBeat(runner, early))).toMatchObject({ route: "failed" });
    expect(rowOf(harness, run)).toMatchObject({ status: "failed", endNotified: true });
    expect(await failureOf(harness, run)).toBe("Expired");
  });

  test("parked until its deadline ends then, however long its last snapshot took", async () => {
    const harness = createSupervisedHarness();
    const agent = scriptedAgent({ effect: "unsafe" });
    const { run } = await beginRun(harness.world, agent, {});
    if (kind === "paused") await sendRequest(harness.world, { run, want: "pause" });
    const put: World["objects"]["put"] = (key, bytes) => {
      // A slow store.
      harness.clock.moveTo(harness.clock.now() + 1_500);
      return harness.world.objects.put(key, bytes);
    };
    const slow = { ...harness.world, objects: { ...harness.world.objects, put } };
    if (kind === "blocked") {
      await dieInTool(harness, {
        payload: { run, born: rowOf(harness, run).born, chain: 1, epoch: 0, agent: agent.name },
        agent,
      });
      const name = [...harness.world.chain.executions.keys()][0] ?? "";
      harness.world.chain.end(name, harness.world.chain.begin(name).attempt, null);
    }
    const parked = await driveUntil(harness, { agent, run, world: slow, until: ({ park }) => park !== null });
    expect(parked.status).toBe(kind);
    const ended = await driveUntil(harness, { agent, run, world: slow, until: isEndNotified });
    expect(ended.status).toBe("failed");
    expect(await failureOf(harness, run)).toBe("Expired");
    expect(harness.clock.now() - parked.deadline).toBeLessThan(10_000);
    // It did not park a second time.
    expect(ended.version).toBe(parked.version + 1);
  });

  test("gets a full new deadline with each message", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { deadline, wakeAt } = rowOf(harness, run);
    expect(wakeAt).toBe(deadline);
    harness.clock.moveTo(deadline - 1_000_000);
    expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
    const later = harness.clock.now() + harness.world.limits.idleRunMs;
    expect(rowOf(harness, run).deadline).toBe(later);
    // It is woken late, after the first deadline and before the second one.
    harness.clock.moveTo(deadline + 1);
    const reply = await beatReply(attemptBeat(runner, payload));
    expect(reply.route).toBe("park");
    expect(rowOf(harness, run)).toMatchObject({
      status: kind,
      deadline: harness.clock.now() + harness.world.limits.idleRunMs,
    });
  });

  test("whose owner is fenced when it expires waits until that owner cannot act any more", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    harness.clock.moveTo(rowOf(harness, run).deadline);
    const effectsSettleAt = harness.clock.now() + 5_000;
    changeRow(harness, { run }, { effectsSettleAt });
    const reply = await beatReply(attemptBeat(runner, payload));
    expect(reply).toMatchObject({ route: "wait", seconds: 5 });
    harness.clock.moveTo(effectsSettleAt);
    expect(await beatReply(attemptBeat(runner, reply))).toMatchObject({ route: "failed" });
    expect(await failureOf(harness, run)).toBe("Expired");
  });

  test("absorbs a message that arrives right before its end commits, and does not end", async () => {
    const harness = createSupervisedHarness();
    const { run, agent, payload } = await waiting(harness, kind);
    harness.clock.moveTo(rowOf(harness, run).deadline);
    const act = () => send(harness.world, words(run));
    const world = beforeCommit(harness, { when: ({ unlessWoken }) => unlessWoken, act });
    const reply = await beatReply(attemptBeat(runnerOf(world, agent), payload));
    expect(reply.route).toBe("beat");
    const parked = await beatReply(attemptBeat(runnerOf(harness.world, agent), reply));
    expect(parked.route).toBe("park");
    expect(rowOf(harness, run)).toMatchObject({
      status: kind,
      deadline: harness.clock.now() + harness.world.limits.idleRunMs,
    });
    if (kind === "paused") await sendRequest(harness.world, { run, want: "resume" });
    else {
      const said = { run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
      expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
    }
    expect(await drive(runnerOf(harness.world, agent), parked)).toMatchObject({ route: "done" });
    expect(JSON.stringify(await transcript(harness.world, run))).toContain("take the train");
    const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
    expect(events.filter((event) => event.kind === "MessageAbsorbed" && event.stage === "taken")).toHaveLength(
      kind === "paused" ? 1 : 2,
    );
  });

  test("is cancelled when the cancel arrives right before it expires", async () => {
    const harness = createSupervisedHarness();
    const { run, agent, payload } = await waiting(harness, kind);
    harness.clock.moveTo(rowOf(harness, run).deadline);
    const act = () => sendRequest(harness.world, { run, want: "cancel" });
    const world = beforeCommit(harness, { when: ({ unlessWoken }) => unlessWoken, act });
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    expect(rowOf(harness, run).status).toBe("cancelled");
  });
});

test("a blocked run accepts an answer that arrives right before it expires", async () => {
  const harness = createSupervisedHarness();
  const { run, agent, payload } = await waiting(harness, "blocked");
  harness.clock.moveTo(rowOf(harness, run).deadline);
  const said = { run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
  const act = async () => expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
  const world = beforeCommit(harness, { when: ({ unlessWoken }) => unlessWoken, act });
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(rowOf(harness, run).status).toBe("completed");
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled" }]);
});

test("a run that is resumed right before it expires continues", async () => {
  const harness = createSupervisedHarness();
  const { run, agent, payload } = await waiting(harness, "paused");
  harness.clock.moveTo(rowOf(harness, run).deadline);
  const act = () => sendRequest(harness.world, { run, want: "resume" });
  const world = beforeCommit(harness, { when: ({ unlessWoken }) => unlessWoken, act });
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(rowOf(harness, run).status).toBe("completed");
});

test("unread messages of a paused run do not keep it alive, and its end absorbs them", async () => {
  const harness = createSupervisedHarness();
  const { run, runner, payload } = await waiting(harness, "paused");
  await send(harness.world, words(run));
  const parked = await beatReply(attemptBeat(runner, payload));
  expect(parked.route).toBe("park");
  harness.clock.moveTo(rowOf(harness, run).deadline);
  expect(await beatReply(attemptBeat(runner, parked))).toMatchObject({ route: "failed" });
  expect(await failureOf(harness, run)).toBe("Expired");
  expect((await transcript(harness.world, run))?.at(-1)).toMatchObject({ source: "user:ann" });
});
