/** Several beats in one invocation: the same run for fewer writes, and whatever cannot be repeated is durable first. */
import { describe, expect, test } from "vitest";
import type { Commit } from "../../../src/protocol/row.ts";
import type { Conversation } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { ledger, show, transcript } from "../../../src/operations/views.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { send } from "../../../src/operations/steer.ts";
import { attempt, begin, drive, mortal, runnerOf } from "../../support/drive.ts";
import { type Part, type Stage, actor, callsThenOver, never, replyOf, rowOf, stage } from "../../support/stage.ts";

/** A run that writes down what it does: each question to the model, each run of its tool, each write of its row. */
async function noted(on: Stage, part: Part & { readonly count: number }) {
  const notes: string[] = [];
  const reply = (conversation: Conversation) => {
    notes.push("ask");
    return (part.reply ?? callsThenOver(part.count))(conversation);
  };
  const run: NonNullable<Part["run"]> = async (context) => {
    notes.push("run");
    return (await part.run?.(context)) ?? "acted";
  };
  const agent = actor({ ...part, reply, run });
  const commit: World["table"]["commit"] = async (asked: Commit) => {
    notes.push(asked.release ? "release" : "commit");
    return on.world.table.commit(asked);
  };
  const claim: World["table"]["claim"] = async (asked) => {
    notes.push("claim");
    return on.world.table.claim(asked);
  };
  const world: World = { ...on.world, table: { ...on.world.table, commit, claim } };
  const payload = await begin(on.world, agent, {});
  return { notes, agent, world, payload, runner: runnerOf(world, agent) };
}

test("give the same transcript, ledger and costs as one beat each, for fewer writes of the row", async () => {
  const ran = async (beatsPerInvocation: number) => {
    const on = stage({ beatsPerInvocation });
    const { notes, payload, runner } = await noted(on, { count: 6 });
    expect(await drive(runner, payload)).toMatchObject({ route: "done" });
    const messages = (await transcript(on.world, payload.run)) ?? [];
    const calls = (await ledger(on.world, payload.run)) ?? [];
    const { status, result, spent, beats } = (await show(on.world, payload.run)) ?? {};
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
  expect([one.claims, four.claims, all.claims]).toEqual([7, 2, 1]);
  // Claim, intents and release of each beat; the last one has no calls. With all in one: a claim, six intents, the end.
  expect([one.writes, four.writes, all.writes]).toEqual([6 * 3 + 2, 2 * 2 + 6, 1 + 6 + 1]);
});

describe("before the model is asked on", () => {
  test.each([
    ["none", ["run", "ask"]],
    ["keyed", ["run", "ask"]],
    ["probed", ["run", "commit", "ask"]],
    ["unsafe", ["run", "commit", "ask"]],
  ] as const)("the result of a %s call goes as %o", async (effect, order) => {
    const on = stage({ beatsPerInvocation: 5 });
    const probe = effect === "probed" ? { probe: () => ({ kind: "absent" }) } : {};
    const { notes, payload, runner } = await noted(on, { effect, count: 2, ...probe });
    await drive(runner, payload);
    const turn = ["commit", ...order];
    expect(notes).toEqual(["claim", "ask", ...turn, ...turn, "release"]);
  });

  test("words that a commit brought word of are read, in the same invocation", async () => {
    const on = stage({ beatsPerInvocation: 5 });
    const prompts: number[] = [];
    const run = async (): Promise<string> => {
      await send(on.world, { run: payload.run, text: "take the train", by: "ann", id: "w1" });
      return "acted";
    };
    const reply = (conversation: Conversation) => {
      prompts.push(conversation.messages.filter(({ text }) => text === "take the train").length);
      return callsThenOver(1)(conversation);
    };
    const { notes, payload, runner } = await noted(on, { effect: "unsafe", count: 1, run, reply });
    await drive(runner, payload);
    expect(prompts).toEqual([0, 1]);
    expect(notes.filter((note) => note === "claim")).toHaveLength(1);
  });
});

describe("between two beats of one invocation", () => {
  test("a cancel is seen by the commit that releases the next calls, and they are not started", async () => {
    const on = stage({ beatsPerInvocation: 5 });
    const run = () => sendRequest(on.world, { run: payload.run, want: "cancel" });
    const { notes, payload, runner } = await noted(on, { count: 4, run });
    expect(await replyOf(attempt(runner, payload))).toMatchObject({ route: "done" });
    expect(notes).toEqual(["claim", "ask", "commit", "run", "ask", "commit", "release"]);
    expect(await show(on.world, payload.run)).toMatchObject({ status: "cancelled" });
    expect(await ledger(on.world, payload.run)).toMatchObject([{ status: "succeeded" }, { status: "failed" }]);
  });

  test("a pause is seen there too; what is released is run first, and the rest after it is resumed", async () => {
    const on = stage({ beatsPerInvocation: 5 });
    let runs = 0;
    const run = async (): Promise<string> => {
      runs += 1;
      if (runs === 1) await sendRequest(on.world, { run: payload.run, want: "pause" });
      return "acted";
    };
    const { notes, payload, runner } = await noted(on, { count: 3, run });
    const reply = await replyOf(attempt(runner, payload));
    expect(reply.route).toBe("park");
    expect(notes).toEqual(["claim", "ask", "commit", "run", "ask", "commit", "run", "release"]);
    expect(rowOf(on, payload.run)).toMatchObject({ status: "paused" });
    await sendRequest(on.world, { run: payload.run, want: "resume" });
    expect(await drive(runner, reply)).toMatchObject({ route: "done" });
    expect(runs).toBe(3);
  });

  test("a crash repeats a keyed call whose result only the lost reply knew, with its key", async () => {
    const on = stage({ beatsPerInvocation: 5 });
    const keys: string[] = [];
    let isStuck = true;
    let reached = false;
    const reply = (conversation: Conversation) => {
      reached ||= conversation.calls.length === 2;
      return isStuck && reached ? never() : callsThenOver(3)(conversation);
    };
    const agent = actor({ reply, run: ({ key }) => keys.push(key) });
    const payload = await begin(on.world, agent, {});
    const mortals = mortal(on.world);
    void attempt(runnerOf(mortals.world, agent), payload);
    await expect.poll(() => reached).toBe(true);
    mortals.kill();
    isStuck = false;
    expect(keys).toHaveLength(2);
    const [first, second] = keys;
    expect(await replyOf(attempt(runnerOf(on.world, agent), payload, 1))).toMatchObject({ route: "done" });
    // The first result went with the commit that released the second call; the second result was lost.
    expect(keys.slice(0, 3)).toEqual([first, second, second]);
    expect(keys).toHaveLength(4);
    expect(await ledger(on.world, payload.run)).toMatchObject([{ attempts: 1 }, { attempts: 2 }, { attempts: 1 }]);
  });
});
