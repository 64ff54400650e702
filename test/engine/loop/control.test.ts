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
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import {
  OVER,
  actor,
  beforeCommit,
  callsThenOver,
  dieInTool,
  type Stage,
  park,
  replyOf,
  rowOf,
  stage,
} from "../../support/stage.ts";

const ask = (on: Stage, run: string, want: "cancel" | "pause" | "resume") => sendRequest(on.world, { run, want });
const words = (run: string, id = "w1") => ({ run, text: "take the train", by: "ann", id });

const status = async (on: Stage, run: string): Promise<string | undefined> => (await show(on.world, run))?.status;

const heard = async (on: Stage, run: string): Promise<number> =>
  ((await transcript(on.world, run)) ?? []).filter(({ source }) => source === "user:ann").length;

/** A run that is blocked: the outcome of its unsafe call is unknown. */
async function blocked(on: Stage) {
  const agent = actor({ effect: "unsafe" });
  const payload = await begin(on.world, agent, {});
  await dieInTool(on, { payload, agent });
  const reply = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
  expect(await status(on, payload.run)).toBe("blocked");
  return { agent, payload: reply };
}

async function paused(on: Stage, agent: Agent = actor({})) {
  const payload = await begin(on.world, agent, {});
  expect(await ask(on, payload.run, "pause")).toBe("requested");
  const reply = await replyOf(attempt(runnerOf(on.world, agent), payload));
  expect(reply.route).toBe("park");
  expect(await status(on, payload.run)).toBe("paused");
  return { agent, payload: reply };
}

describe("a pause", () => {
  test("schedules 11 and 14: parks; words go round once each and stay unread; resume goes on and reads them", async () => {
    const on = stage();
    const { agent, payload } = await paused(on);
    const runner = runnerOf(on.world, agent);
    await park(on, { reply: payload, token: "t1" });
    expect(rowOf(on, payload.run).park?.token).toBe("t1");
    expect(await send(on.world, words(payload.run))).toEqual({ kind: "delivered" });
    expect(on.wakes).toEqual(["t1"]);
    const again = await replyOf(attempt(runner, payload));
    expect(again.route).toBe("park");
    await park(on, { reply: again, token: "t2" });
    // Parked, and not woken at once for what it did not read.
    expect(rowOf(on, payload.run).park?.token).toBe("t2");
    expect(on.wakes).toEqual(["t1"]);
    expect(await heard(on, payload.run)).toBe(0);
    expect(await ask(on, payload.run, "resume")).toBe("requested");
    expect(on.wakes).toEqual(["t1", "t2"]);
    expect(await drive(runner, again)).toMatchObject({ route: "done" });
    expect(await heard(on, payload.run)).toBe(1);
  });

  test("that is asked for during a call lets it end, and the run goes on where it was", async () => {
    const on = stage();
    let runs = 0;
    const run = async (): Promise<number> => {
      if (runs === 0) await ask(on, payload.run, "pause");
      return (runs += 1);
    };
    const agent = actor({ run, reply: callsThenOver(2) });
    const payload = await begin(on.world, agent, {});
    const reply = await drive(runnerOf(on.world, agent), payload);
    expect(reply.route).toBe("park");
    expect(runs).toBe(1);
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "succeeded" }]);
    await ask(on, payload.run, "resume");
    expect(await drive(runnerOf(on.world, agent), reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(2);
  });

  test("of a blocked run: it is blocked again when it is resumed, and its answer is taken", async () => {
    const on = stage();
    const { agent, payload } = await blocked(on);
    const runner = runnerOf(on.world, agent);
    await ask(on, payload.run, "pause");
    const still = await replyOf(attempt(runner, payload));
    expect(await status(on, payload.run)).toBe("paused");
    const answer = { run: payload.run, call: "c1", as: "succeeded", result: 1, by: "ann", note: null } as const;
    expect(await reconcile(on.world, answer)).toEqual({ kind: "accepted" });
    const unread = await replyOf(attempt(runner, still));
    expect(await status(on, payload.run)).toBe("paused");
    await ask(on, payload.run, "resume");
    expect(await drive(runner, unread)).toMatchObject({ route: "done" });
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "reconciled", attempts: 1 }]);
  });

  test("right before the end holds it back, and words that come then are heard before it ends", async () => {
    const on = stage();
    const heardAt: number[] = [];
    const agent = actor({
      reply: ({ messages }) => {
        heardAt.push(messages.filter(({ text }) => text === "take the train").length);
        return OVER;
      },
    });
    const payload = await begin(on.world, agent, {});
    const act = (): Promise<string> => ask(on, payload.run, "pause");
    const world = beforeCommit(on, { when: (commit) => commit.unlessWoken, act });
    const reply = await replyOf(attempt(runnerOf(world, agent), payload));
    expect(reply.route).toBe("park");
    expect(await status(on, payload.run)).toBe("paused");
    await send(on.world, words(payload.run));
    await ask(on, payload.run, "resume");
    expect(await drive(runnerOf(on.world, agent), reply)).toMatchObject({ route: "done" });
    expect(heardAt).toEqual([0, 1]);
  });
});

describe("a cancel ends", () => {
  const cancelledFrom = async (on: Stage, { agent, payload }: { agent: Agent; payload: Payload }) => {
    expect(await ask(on, payload.run, "cancel")).toBe("requested");
    const { effectsSettleAt } = rowOf(on, payload.run);
    on.clock.moveTo(Math.max(on.clock.now(), effectsSettleAt));
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(rowOf(on, payload.run)).toMatchObject({
      status: "cancelled",
      phase: "Cancelled",
      endNotified: true,
      owner: null,
    });
    expect(await ask(on, payload.run, "cancel")).toBe("late");
  };

  test("a queued run, whose model is never asked", async () => {
    const on = stage();
    let asked = 0;
    const agent = actor({
      reply: () => {
        asked += 1;
        return OVER;
      },
    });
    await cancelledFrom(on, { agent, payload: await begin(on.world, agent, {}) });
    expect(asked).toBe(0);
  });

  test("a running one after the call that is under way", async () => {
    const on = stage();
    let runs = 0;
    const run = async (): Promise<string> => {
      runs += 1;
      expect(await ask(on, payload.run, "cancel")).toBe("requested");
      return "acted";
    };
    const agent = actor({ run, reply: callsThenOver(9) });
    const payload = await begin(on.world, agent, {});
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(runs).toBe(1);
    expect(await status(on, payload.run)).toBe("cancelled");
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "succeeded" }]);
  });

  test("one that waits to ask its model again", async () => {
    const on = stage();
    const reply = (): never => {
      throw new APICallError({ message: "busy", url: "u", requestBodyValues: {}, statusCode: 503, isRetryable: true });
    };
    const agent = actor({ reply });
    const payload = await replyOf(attempt(runnerOf(on.world, agent), await begin(on.world, agent, {})));
    expect(payload.route).toBe("wait");
    expect(rowOf(on, payload.run).phase).toBe("RetryingLLM");
    await cancelledFrom(on, { agent, payload });
  });

  test("a blocked one, whose call stays unknown", async () => {
    const on = stage();
    const run = await blocked(on);
    await cancelledFrom(on, run);
    expect(await ledger(on.world, run.payload.run)).toMatchObject([{ status: "unknown" }]);
  });

  test("a paused one, and reads its inbox first", async () => {
    const on = stage();
    const run = await paused(on);
    await send(on.world, words(run.payload.run));
    await cancelledFrom(on, run);
    expect(await heard(on, run.payload.run)).toBe(1);
  });

  test("a paused one in the middle of a call, which stays unknown", async () => {
    const on = stage();
    const agent = actor({});
    const payload = await begin(on.world, agent, {});
    await dieInTool(on, { payload, agent });
    await ask(on, payload.run, "pause");
    const reply = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
    expect(await status(on, payload.run)).toBe("paused");
    await cancelledFrom(on, { agent, payload: reply });
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

describe("a cancel that is seen by the commit which releases a call", () => {
  const seenByRelease = (on: Stage, run: () => string): World =>
    beforeCommit(on, { when: ({ release }) => !release, act: () => ask(on, run(), "cancel") });

  test("starts nothing: the call is known not to have begun", async () => {
    const on = stage();
    let runs = 0;
    const agent = actor({ effect: "unsafe", run: () => (runs += 1) });
    const payload = await begin(on.world, agent, {});
    const world = seenByRelease(on, () => payload.run);
    expect(await replyOf(attempt(runnerOf(world, agent), payload))).toMatchObject({ route: "done" });
    expect(runs).toBe(0);
    expect(await status(on, payload.run)).toBe("cancelled");
    expect(await ledger(on.world, payload.run)).toMatchObject([
      { status: "failed", attempts: 1, evidence: "it was never started" },
    ]);
    expect(JSON.stringify(await transcript(on.world, payload.run))).toContain("NotStarted");
  });

  test("says nothing of the kind about a call that a dead invocation had released: it may have happened", async () => {
    const on = stage();
    let runs = 0;
    const agent = actor({ run: () => (runs += 1) });
    const payload = await begin(on.world, agent, {});
    await dieInTool(on, { payload, agent });
    const world = seenByRelease(on, () => payload.run);
    const reply = await replyOf(attempt(runnerOf(world, agent), payload, 1));
    expect(reply.route).toBe("wait");
    on.clock.moveTo(rowOf(on, payload.run).effectsSettleAt);
    expect(await drive(runnerOf(on.world, agent), reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(0);
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "unknown" }]);
  });
});

describe("a wish whose answer is lost", () => {
  test.each(["before", "after"] as const)("%s it was applied is sent again until it is certain", async (when) => {
    const on = stage();
    const payload = await begin(on.world, actor({}), {});
    const sent: string[] = [];
    const losing: RunTable["request"] = async (wish) => {
      sent.push(wish.want);
      if (sent.length > 1) return on.world.table.request(wish);
      if (when === "after") await on.world.table.request(wish);
      return { kind: "ambiguous", why: "timeout" };
    };
    const world: World = { ...on.world, table: { ...on.world.table, request: losing } };
    expect(await sendRequest(world, { run: payload.run, want: "pause" })).toBe("requested");
    expect(sent).toEqual(["pause", "pause"]);
    expect(rowOf(on, payload.run)).toMatchObject({ pause: true, wakeCount: when === "after" ? 2 : 1 });
  });

  test("to a run that is not there misses it", async () => {
    expect(await ask(stage(), `local-${"a".repeat(26)}`, "pause")).toBe("missing");
  });
});
