/** Pause, resume and cancel: done by the next commit that sees them, wherever the run is, and nothing is started after. */
import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import type { Agent } from "../../../src/ports/agent.ts";
import type { Payload } from "../../../src/protocol/chain.ts";
import type { RunTable } from "../../../src/ports/run-table.ts";
import type { World } from "../../../src/ports/world.ts";
import { ledger, show, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  FINAL_REPLY,
  scriptedAgent,
  callsThenFinal,
  dieInTool,
  type Harness,
  parkRun,
  beatReply,
  createHarness,
} from "../../support/harness/harness.ts";
import { beforeCall } from "../../support/harness/chain-steps.ts";

const ask = (harness: Harness, run: string, want: "cancel" | "pause" | "resume") =>
  sendRequest(harness.world, { run, want });
const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });

const status = async (harness: Harness, run: string): Promise<string | undefined> =>
  (await show(harness.world, run))?.status;

const heard = async (harness: Harness, run: string): Promise<number> =>
  ((await transcript(harness.world, run)) ?? []).filter(({ source }) => source === "user:ann").length;

/** A run that is blocked: the outcome of its unsafe call is unknown. */
async function blocked(harness: Harness) {
  const agent = scriptedAgent({ effect: "unsafe" });
  const payload = await beginRun(harness.world, agent, {});
  await dieInTool(harness, { payload, agent });
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
  expect(await status(harness, payload.run)).toBe("blocked");
  return { agent, payload: reply };
}

async function paused(harness: Harness, agent: Agent = scriptedAgent({})) {
  const payload = await beginRun(harness.world, agent, {});
  expect(await ask(harness, payload.run, "pause")).toBe("requested");
  const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload));
  expect(reply.route).toBe("park");
  expect(await status(harness, payload.run)).toBe("paused");
  return { agent, payload: reply };
}

describe("a pause", () => {
  test("schedules 11 and 14: parks the run; messages stay unread after one round each; resume reads them", async () => {
    const harness = createHarness();
    const { agent, payload } = await paused(harness);
    const runner = runnerOf(harness.world, agent);
    await parkRun(harness, { reply: payload, token: "t1" });
    expect(harness.row(payload.run).park?.token).toBe("t1");
    expect(await send(harness.world, words(payload.run))).toEqual({ kind: "delivered" });
    expect(harness.wakes).toEqual(["t1"]);
    const again = await beatReply(attemptBeat(runner, payload));
    expect(again.route).toBe("park");
    await parkRun(harness, { reply: again, token: "t2" });
    // Parked, and not woken at once for what it did not read.
    expect(harness.row(payload.run).park?.token).toBe("t2");
    expect(harness.wakes).toEqual(["t1"]);
    expect(await heard(harness, payload.run)).toBe(0);
    expect(await ask(harness, payload.run, "resume")).toBe("requested");
    expect(harness.wakes).toEqual(["t1", "t2"]);
    expect(await drive(runner, again)).toMatchObject({ route: "done" });
    expect(await heard(harness, payload.run)).toBe(1);
  });

  test("during a call lets the call end, and the run continues in its phase after the resume", async () => {
    const harness = createHarness();
    let runs = 0;
    const run = async (): Promise<number> => {
      if (runs === 0) await ask(harness, payload.run, "pause");
      return (runs += 1);
    };
    const agent = scriptedAgent({ run, reply: callsThenFinal(2) });
    const payload = await beginRun(harness.world, agent, {});
    const reply = await drive(runnerOf(harness.world, agent), payload);
    expect(reply.route).toBe("park");
    expect(runs).toBe(1);
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "succeeded" }]);
    await ask(harness, payload.run, "resume");
    expect(await drive(runnerOf(harness.world, agent), reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(2);
  });

  test("of a blocked run leaves it blocked after the resume, and its answer is applied", async () => {
    const harness = createHarness();
    const { agent, payload } = await blocked(harness);
    const runner = runnerOf(harness.world, agent);
    await ask(harness, payload.run, "pause");
    const still = await beatReply(attemptBeat(runner, payload));
    expect(await status(harness, payload.run)).toBe("paused");
    const answer = { run: payload.run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
    expect(await reconcile(harness.world, answer)).toEqual({ kind: "accepted" });
    const unread = await beatReply(attemptBeat(runner, still));
    expect(await status(harness, payload.run)).toBe("paused");
    await ask(harness, payload.run, "resume");
    expect(await drive(runner, unread)).toMatchObject({ route: "done" });
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
  });

  test("right before the end delays it, and messages that arrive then are read before the run ends", async () => {
    const harness = createHarness();
    const heardAt: number[] = [];
    const agent = scriptedAgent({
      reply: ({ messages }) => {
        heardAt.push(messages.filter(({ text }) => text === "take the train").length);
        return FINAL_REPLY;
      },
    });
    const payload = await beginRun(harness.world, agent, {});
    const act = (): Promise<string> => ask(harness, payload.run, "pause");
    const world = beforeCall(harness.world, "commit", act, (commit) => commit.unlessWoken);
    const reply = await beatReply(attemptBeat(runnerOf(world, agent), payload));
    expect(reply.route).toBe("park");
    expect(await status(harness, payload.run)).toBe("paused");
    await send(harness.world, words(payload.run));
    await ask(harness, payload.run, "resume");
    expect(await drive(runnerOf(harness.world, agent), reply)).toMatchObject({ route: "done" });
    expect(heardAt).toEqual([0, 1]);
  });
});

describe("a cancel ends", () => {
  const cancelledFrom = async (harness: Harness, { agent, payload }: { agent: Agent; payload: Payload }) => {
    expect(await ask(harness, payload.run, "cancel")).toBe("requested");
    const { effectsSettleAt } = harness.row(payload.run);
    harness.clock.moveTo(Math.max(harness.clock.now(), effectsSettleAt));
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    expect(harness.row(payload.run)).toMatchObject({
      status: "cancelled",
      phase: "Cancelled",
      endNotified: true,
      owner: null,
    });
    expect(await ask(harness, payload.run, "cancel")).toBe("late");
  };

  test("a queued run, whose model is never called", async () => {
    const harness = createHarness();
    let asked = 0;
    const agent = scriptedAgent({
      reply: () => {
        asked += 1;
        return FINAL_REPLY;
      },
    });
    await cancelledFrom(harness, { agent, payload: await beginRun(harness.world, agent, {}) });
    expect(asked).toBe(0);
  });

  test("a running run after the call in progress", async () => {
    const harness = createHarness();
    let runs = 0;
    const run = async (): Promise<string> => {
      runs += 1;
      expect(await ask(harness, payload.run, "cancel")).toBe("requested");
      return "acted";
    };
    const agent = scriptedAgent({ run, reply: callsThenFinal(9) });
    const payload = await beginRun(harness.world, agent, {});
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    expect(runs).toBe(1);
    expect(await status(harness, payload.run)).toBe("cancelled");
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "succeeded" }]);
  });

  test("a run that waits to call its model again", async () => {
    const harness = createHarness();
    const reply = (): never => {
      throw new APICallError({ message: "busy", url: "u", requestBodyValues: {}, statusCode: 503, isRetryable: true });
    };
    const agent = scriptedAgent({ reply });
    const payload = await beatReply(
      attemptBeat(runnerOf(harness.world, agent), await beginRun(harness.world, agent, {})),
    );
    expect(payload.route).toBe("wait");
    expect(harness.row(payload.run).phase).toBe("RetryingLLM");
    await cancelledFrom(harness, { agent, payload });
  });

  test("a blocked run, whose call stays unknown", async () => {
    const harness = createHarness();
    const run = await blocked(harness);
    await cancelledFrom(harness, run);
    expect(await ledger(harness.world, run.payload.run)).toMatchObject([{ status: "unknown" }]);
  });

  test("a paused run, and absorbs its inbox first", async () => {
    const harness = createHarness();
    const run = await paused(harness);
    await send(harness.world, words(run.payload.run));
    await cancelledFrom(harness, run);
    expect(await heard(harness, run.payload.run)).toBe(1);
  });

  test("a run that was paused during a call, which stays unknown", async () => {
    const harness = createHarness();
    const agent = scriptedAgent({});
    const payload = await beginRun(harness.world, agent, {});
    await dieInTool(harness, { payload, agent });
    await ask(harness, payload.run, "pause");
    const reply = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
    expect(await status(harness, payload.run)).toBe("paused");
    await cancelledFrom(harness, { agent, payload: reply });
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

describe("a cancel seen by the commit that releases a call", () => {
  const seenByRelease = (harness: Harness, run: () => string): World =>
    beforeCall(
      harness.world,
      "commit",
      () => ask(harness, run(), "cancel"),
      ({ release }) => !release,
    );

  test("starts nothing: the call is recorded as not started", async () => {
    const harness = createHarness();
    let runs = 0;
    const agent = scriptedAgent({ effect: "unsafe", run: () => (runs += 1) });
    const payload = await beginRun(harness.world, agent, {});
    const world = seenByRelease(harness, () => payload.run);
    expect(await beatReply(attemptBeat(runnerOf(world, agent), payload))).toMatchObject({ route: "done" });
    expect(runs).toBe(0);
    expect(await status(harness, payload.run)).toBe("cancelled");
    expect(await ledger(harness.world, payload.run)).toMatchObject([
      { status: "failed", attempts: 1, evidence: "it was never started" },
    ]);
    expect(JSON.stringify(await transcript(harness.world, payload.run))).toContain("NotStarted");
  });

  test("does not record that for a call that a dead invocation had released, because it may have happened", async () => {
    const harness = createHarness();
    let runs = 0;
    const agent = scriptedAgent({ run: () => (runs += 1) });
    const payload = await beginRun(harness.world, agent, {});
    await dieInTool(harness, { payload, agent });
    const world = seenByRelease(harness, () => payload.run);
    const reply = await beatReply(attemptBeat(runnerOf(world, agent), payload, 1));
    expect(reply.route).toBe("wait");
    harness.clock.moveTo(harness.row(payload.run).effectsSettleAt);
    expect(await drive(runnerOf(harness.world, agent), reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(0);
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

describe("a request whose response is lost", () => {
  test.each(["before", "after"] as const)(
    "%s it was applied is sent again until its outcome is certain",
    async (when) => {
      const harness = createHarness();
      const payload = await beginRun(harness.world, scriptedAgent({}), {});
      const sent: string[] = [];
      const losing: RunTable["request"] = async (wish) => {
        sent.push(wish.want);
        if (sent.length > 1) return harness.world.table.request(wish);
        if (when === "after") await harness.world.table.request(wish);
        return { kind: "ambiguous", why: "timeout" };
      };
      const world: World = { ...harness.world, table: { ...harness.world.table, request: losing } };
      expect(await sendRequest(world, { run: payload.run, want: "pause" })).toBe("requested");
      expect(sent).toEqual(["pause", "pause"]);
      expect(harness.row(payload.run)).toMatchObject({ pause: true, wakeCount: when === "after" ? 2 : 1 });
    },
  );

  test("reports a missing run when there is none", async () => {
    expect(await ask(createHarness(), `local-${"a".repeat(26)}`, "pause")).toBe("missing");
  });
});
