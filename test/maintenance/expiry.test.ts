/** A waiting run without any message ends at its deadline and not before; a message extends its deadline. */
import { describe, expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import type { World } from "../../src/ports/world.ts";
import { ledger, show, timeline, transcript } from "../../src/operations/views.ts";
import { reconcile } from "../../src/operations/reconcile.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { send } from "../../src/operations/steer.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import {
  scriptedAgent,
  dieInTool,
  beatReply,
  type Harness,
  createSupervisedHarness,
  MS,
} from "../support/harness/harness.ts";
import { beforeCall } from "../support/harness/chain-steps.ts";

type Kind = "paused" | "blocked";

/** A run that waits for an operator, driven by the chain; `payload` is that of its next beat. */
async function waiting(harness: Harness, kind: Kind, more: Pick<Agent, "onIdle"> = {}) {
  const agent = { ...scriptedAgent({ effect: "unsafe" }), ...more };
  const payload = await beginRun(harness.world, agent, {});
  const { run } = payload;
  if (kind === "paused") await sendRequest(harness.world, { run, want: "pause" });
  else await dieInTool(harness, { payload, agent });
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
  expect(reply.route).toBe("park");
  expect(harness.row(run).status).toBe(kind);
  return { agent, runner: runnerOf(harness.world, agent), run, payload: reply };
}

/** The same run, once it has warned of its end. `payload` is that of its last beat. */
async function warned(harness: Harness, kind: Kind) {
  const of = await waiting(harness, kind);
  harness.clock.moveTo(harness.row(of.run).wakeAt ?? 0);
  return { ...of, payload: await beatReply(attemptBeat(of.runner, of.payload)) };
}

const failureOf = async (harness: Harness, run: string) => (await show(harness.world, run))?.failure?.code;
const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });

const warningsOf = async (harness: Harness, run: string) =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RecoveryDecided" && event.action.kind === "warn" ? [event.action.expiresAt] : [],
  );

describe.each(["paused", "blocked"] as const)("a %s run", (kind) => {
  test("warns once before it expires, and the warning moves no end", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { deadline, wakeAt } = harness.row(run);
    harness.clock.moveTo(wakeAt ?? 0);
    const alarms: string[] = [];
    const record: World["telemetry"]["record"] = (each) =>
      void (each.level === "alarm" && alarms.push(`${each.what} ${each.run}`));
    const warns = { ...runner, world: { ...harness.world, telemetry: { record } } };
    const warned = await beatReply(attemptBeat(warns, payload));
    expect(warned).toMatchObject({ route: "park", seconds: harness.world.limits.idleRunMs / 10_000 });
    expect(await warningsOf(harness, run)).toEqual([deadline]);
    expect(alarms).toEqual([`Expiring ${run}`]);
    // A wake-up without news in the last days warns of nothing new.
    harness.clock.moveTo(deadline - 1_000_000);
    await beatReply(attemptBeat(runner, warned));
    expect(await warningsOf(harness, run)).toEqual([deadline]);
  });

  test("that gets a message after the warning waits as long again, and warns again", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { wakeAt } = harness.row(run);
    harness.clock.moveTo(wakeAt ?? 0);
    const warned = await beatReply(attemptBeat(runner, payload));
    expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
    const read = await drive(runner, warned);
    const next = harness.row(run);
    expect(next.deadline).toBe(harness.clock.now() + harness.world.limits.idleRunMs);
    harness.clock.moveTo(next.wakeAt ?? 0);
    await beatReply(attemptBeat(runner, read));
    expect(await warningsOf(harness, run)).toEqual([
      (wakeAt ?? 0) + harness.world.limits.idleRunMs / 10,
      next.deadline,
    ]);
  });

  test("never expires where its agent says so, and warns each time", async () => {
    const harness = createSupervisedHarness();
    const of = await waiting(harness, kind, { onIdle: "wait" });
    let { payload } = of;
    for (let times = 1; times <= 3; times += 1) {
      harness.clock.moveTo(harness.row(of.run).wakeAt ?? 0);
      payload = await beatReply(attemptBeat(of.runner, payload));
      expect(harness.row(of.run)).toMatchObject({
        status: kind,
        deadline: harness.clock.now() + harness.world.limits.idleRunMs,
      });
      expect(await warningsOf(harness, of.run)).toEqual(Array.from({ length: times }, () => null));
    }
  });

  test("without any message ends as Expired at its deadline and not before", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { deadline } = harness.row(run);
    expect(deadline).toBe(harness.clock.now() + harness.world.limits.idleRunMs);
    // It is looked at when a tenth of the time is left.
    expect(payload.seconds).toBe((harness.world.limits.idleRunMs * 9) / 10_000);
    // The chain's clock may be ahead by the maximum skew.
    harness.clock.moveTo(deadline - MS.skew - 1);
    const early = await beatReply(attemptBeat(runner, payload));
    expect(early.route).toBe("park");
    expect(harness.row(run)).toMatchObject({ status: kind, deadline, wakeAt: deadline });
    harness.clock.moveTo(deadline);
    expect(await beatReply(attemptBeat(runner, early))).toMatchObject({ route: "failed" });
    expect(harness.row(run)).toMatchObject({ status: "failed", endNotified: true });
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
        payload: { run, born: harness.row(run).born, chain: 1, epoch: 0, agent: agent.name },
        agent,
      });
      const name = [...harness.world.chain.executions.keys()][0] ?? "";
      harness.world.chain.end(name, harness.world.chain.begin(name).attempt, null);
    }
    const begun = harness.clock.now();
    const parked = await harness.driveUntil({
      ...{ agent, run, world: slow },
      until: ({ park, wakeAt, deadline }) => park !== null && wakeAt === deadline,
    });
    expect(parked.status).toBe(kind);
    const ended = await harness.driveUntil({ agent, run, world: slow, until: ({ endNotified }) => endNotified });
    expect(ended.status).toBe("failed");
    expect(await failureOf(harness, run)).toBe("Expired");
    expect(harness.clock.now() - parked.deadline).toBeLessThan(10_000);
    // The warning moved no end.
    expect(parked.deadline - begun).toBeLessThanOrEqual(harness.world.limits.idleRunMs + 60_000);
    // It did not park another time.
    expect(ended.version).toBe(parked.version + 1);
  });

  test("gets a full new deadline with each message", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await waiting(harness, kind);
    const { deadline } = harness.row(run);
    harness.clock.moveTo(deadline - 1_000_000);
    expect(await send(harness.world, words(run))).toEqual({ kind: "delivered" });
    const later = harness.clock.now() + harness.world.limits.idleRunMs;
    expect(harness.row(run).deadline).toBe(later);
    // It is woken late, after the first deadline and before the second one.
    harness.clock.moveTo(deadline + 1);
    const reply = await beatReply(attemptBeat(runner, payload));
    expect(reply.route).toBe("park");
    // A paused run leaves the message unread, so its wait began with the message.
    const since = kind === "paused" ? later - harness.world.limits.idleRunMs : harness.clock.now();
    expect(harness.row(run)).toMatchObject({ status: kind, deadline: since + harness.world.limits.idleRunMs });
  });

  test("whose owner is fenced when it expires waits until that owner cannot act any more", async () => {
    const harness = createSupervisedHarness();
    const { run, runner, payload } = await warned(harness, kind);
    harness.clock.moveTo(harness.row(run).deadline);
    const effectsSettleAt = harness.clock.now() + 5_000;
    harness.changeRow({ run }, { effectsSettleAt });
    const reply = await beatReply(attemptBeat(runner, payload));
    expect(reply).toMatchObject({ route: "wait", seconds: 5 });
    harness.clock.moveTo(effectsSettleAt);
    expect(await beatReply(attemptBeat(runner, reply))).toMatchObject({ route: "failed" });
    expect(await failureOf(harness, run)).toBe("Expired");
  });

  test("absorbs a message that arrives right before its end commits, and does not end", async () => {
    const harness = createSupervisedHarness();
    const { run, agent, payload } = await warned(harness, kind);
    harness.clock.moveTo(harness.row(run).deadline);
    const act = () => send(harness.world, words(run));
    const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
    const reply = await beatReply(attemptBeat(runnerOf(world, agent), payload));
    expect(reply.route).toBe("beat");
    const parked = await beatReply(attemptBeat(runnerOf(harness.world, agent), reply));
    expect(parked.route).toBe("park");
    expect(harness.row(run)).toMatchObject({
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
    const { run, agent, payload } = await warned(harness, kind);
    harness.clock.moveTo(harness.row(run).deadline);
    const act = () => sendRequest(harness.world, { run, want: "cancel" });
    const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
    expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
    expect(harness.row(run).status).toBe("cancelled");
  });
});

test("a blocked run accepts an answer that arrives right before it expires", async () => {
  const harness = createSupervisedHarness();
  const { run, agent, payload } = await warned(harness, "blocked");
  harness.clock.moveTo(harness.row(run).deadline);
  const said = { run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
  const act = async () => expect(await reconcile(harness.world, said)).toEqual({ kind: "accepted" });
  const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(harness.row(run).status).toBe("completed");
  expect(await ledger(harness.world, run)).toMatchObject([{ status: "reconciled" }]);
});

test("a run that is resumed right before it expires continues", async () => {
  const harness = createSupervisedHarness();
  const { run, agent, payload } = await warned(harness, "paused");
  harness.clock.moveTo(harness.row(run).deadline);
  const act = () => sendRequest(harness.world, { run, want: "resume" });
  const world = beforeCall(harness.world, "commit", act, ({ unlessWoken }) => unlessWoken);
  expect(await drive(runnerOf(world, agent), payload)).toMatchObject({ route: "done" });
  expect(harness.row(run).status).toBe("completed");
});

test("unread messages of a paused run do not keep it alive, and its end absorbs them", async () => {
  const harness = createSupervisedHarness();
  const { run, runner, payload } = await waiting(harness, "paused");
  await send(harness.world, words(run));
  let parked = await beatReply(attemptBeat(runner, payload));
  expect(parked.route).toBe("park");
  harness.clock.moveTo(harness.row(run).wakeAt ?? 0);
  parked = await beatReply(attemptBeat(runner, parked));
  harness.clock.moveTo(harness.row(run).deadline);
  expect(await beatReply(attemptBeat(runner, parked))).toMatchObject({ route: "failed" });
  expect(await failureOf(harness, run)).toBe("Expired");
  expect((await transcript(harness.world, run))?.at(-1)).toMatchObject({ source: "user:ann" });
});
