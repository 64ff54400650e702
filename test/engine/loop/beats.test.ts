/** Several beats in one invocation: the same run for fewer writes, and whatever cannot be repeated is durable first. */
import { describe, expect, test } from "vitest";
import type { Commit } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import type { Conversation } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { ledger, show, transcript } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { type DecisionCalls, withCalls } from "../../../src/testing/decisions.ts";
import { attemptBeat, beginRun, drive, killableWorld, runnerOf } from "../../support/harness/drive.ts";
import {
  type ScriptedAgentOptions,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  neverSettles,
  beatReply,
  createHarness,
} from "../../support/harness/harness.ts";

/** A run that writes down what it does: each question to the model, each run of its tool, each write of its row. */
async function noted(harness: Harness, part: ScriptedAgentOptions & { readonly count: number }) {
  const notes: string[] = [];
  const reply = (conversation: Conversation) => {
    notes.push("ask");
    return (part.reply ?? callsThenFinal(part.count))(conversation);
  };
  const run: NonNullable<ScriptedAgentOptions["run"]> = async (context) => {
    notes.push("run");
    return (await part.run?.(context)) ?? "acted";
  };
  const agent = scriptedAgent({ ...part, reply, run });
  const commit: DecisionCalls["commit"] = async (asked: Commit) => {
    notes.push(asked.release ? "release" : "commit");
    return harness.world.table.decide(asked, COMMIT);
  };
  const claim: DecisionCalls["claim"] = async (asked) => {
    notes.push("claim");
    return harness.world.table.decide(asked, CLAIM);
  };
  const world: World = { ...harness.world, table: withCalls(harness.world.table, { commit, claim }) };
  const payload = await beginRun(harness.world, agent, {});
  return { notes, agent, world, payload, runner: runnerOf(world, agent) };
}

test("several beats in one invocation give the same transcript, ledger and costs as one each, with fewer row writes", async () => {
  const ran = async (beatsPerInvocation: number) => {
    const harness = createHarness({ beatsPerInvocation });
    const { notes, payload, runner } = await noted(harness, { count: 6 });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    const messages = (await transcript(harness.world, payload.run)) ?? [];
    const calls = (await ledger(harness.world, payload.run)) ?? [];
    const { status, result, spent, beats } = (await show(harness.world, payload.run)) ?? {};
    return {
      same: {
        ...{ status, result, spent, beats },
        messages: messages.map(({ id, role, source, parts, tokens }) => ({ id, role, source, parts, tokens })),
        calls: calls.map(({ call, tool, effect, status: was, attempts }) => ({ call, tool, effect, was, attempts })),
      },
      claims: notes.filter((note) => note === "claim").length,
      writes: notes.filter((note) => note !== "ask" && note !== "run").length,
    };
  };
  const [one, four, all] = [await ran(1), await ran(4), await ran(50)];
  expect(four.same).toEqual(one.same);
  expect(all.same).toEqual(one.same);
  expect({ one: one.claims, four: four.claims, all: all.claims }).toEqual({ one: 7, four: 2, all: 1 });
  // Claim, intents and release of each beat; the last one has no calls. With all in one: a claim, six intents, the end.
  expect({ one: one.writes, four: four.writes, all: all.writes }).toEqual({
    one: 6 * 3 + 2,
    four: 2 * 2 + 6,
    all: 1 + 6 + 1,
  });
});

describe("before the next model call", () => {
  test.each([
    ["none", ["run", "ask"]],
    ["keyed", ["run", "ask"]],
    ["probed", ["run", "commit", "ask"]],
    ["unsafe", ["run", "commit", "ask"]],
  ] as const)("the result of a %s call is committed as %o", async (effect, order) => {
    const harness = createHarness({ beatsPerInvocation: 5 });
    const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) } : {};
    const { notes, payload, runner } = await noted(harness, { effect, count: 2, ...probe });
    await drive(runner, payload);
    const turn = ["commit", ...order];
    expect(notes).toEqual(["claim", "ask", ...turn, ...turn, "release"]);
  });

  test("messages that a commit reported are read in the same invocation", async () => {
    const harness = createHarness({ beatsPerInvocation: 5 });
    const prompts: number[] = [];
    const run = async (): Promise<string> => {
      await send(harness.world, { run: payload.run, text: "take the train", by: "ann", id: "w1" });
      return "acted";
    };
    const reply = (conversation: Conversation) => {
      prompts.push(conversation.messages.filter(({ text }) => text === "take the train").length);
      return callsThenFinal(1)(conversation);
    };
    const { notes, payload, runner } = await noted(harness, { effect: "unsafe", count: 1, run, reply });
    await drive(runner, payload);
    expect(prompts).toEqual([0, 1]);
    expect(notes.filter((note) => note === "claim")).toHaveLength(1);
  });
});

describe("between two beats of one invocation", () => {
  test("the commit that releases the next calls sees a cancel, and the calls are not started", async () => {
    const harness = createHarness({ beatsPerInvocation: 5 });
    const run = () => sendRequest(harness.world, { run: payload.run, want: "cancel" });
    const { notes, payload, runner } = await noted(harness, { count: 4, run });
    expect(await beatReply(attemptBeat(runner, payload))).toMatchObject({ route: "done" });
    expect(notes).toEqual(["claim", "ask", "commit", "run", "ask", "commit", "release"]);
    expect(await show(harness.world, payload.run)).toMatchObject({ status: "cancelled" });
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ status: "succeeded" }, { status: "failed" }]);
  });

  test("it sees a pause too; released calls run first, and the rest after the resume", async () => {
    const harness = createHarness({ beatsPerInvocation: 5 });
    let runs = 0;
    const run = async (): Promise<string> => {
      runs += 1;
      if (runs === 1) await sendRequest(harness.world, { run: payload.run, want: "pause" });
      return "acted";
    };
    const { notes, payload, runner } = await noted(harness, { count: 3, run });
    const reply = await beatReply(attemptBeat(runner, payload));
    expect(reply.route).toBe("park");
    expect(notes).toEqual(["claim", "ask", "commit", "run", "ask", "commit", "run", "release"]);
    expect(harness.row(payload.run)).toMatchObject({ status: "paused" });
    await sendRequest(harness.world, { run: payload.run, want: "resume" });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(3);
  });

  test("a crash repeats a keyed call, whose result was only in the lost reply, with its key", async () => {
    const harness = createHarness({ beatsPerInvocation: 5 });
    const keys: string[] = [];
    let isStuck = true;
    let reached = false;
    const reply = (conversation: Conversation) => {
      reached ||= conversation.calls.length === 2;
      return isStuck && reached ? neverSettles() : callsThenFinal(3)(conversation);
    };
    const agent = scriptedAgent({ reply, run: ({ key }) => keys.push(key) });
    const payload = await beginRun(harness.world, agent, {});
    const mortals = killableWorld(harness.world);
    void attemptBeat(runnerOf(mortals.world, agent), payload);
    await expect.poll(() => reached).toBe(true);
    mortals.kill();
    isStuck = false;
    expect(keys).toHaveLength(2);
    const [first, second] = keys;
    expect(await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1))).toMatchObject({ route: "done" });
    // The first result went with the commit that released the second call; the second result was lost.
    expect(keys.slice(0, 3)).toEqual([first, second, second]);
    expect(keys).toHaveLength(4);
    expect(await ledger(harness.world, payload.run)).toMatchObject([{ attempts: 1 }, { attempts: 2 }, { attempts: 1 }]);
  });
});
