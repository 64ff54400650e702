/** Words for the model that arrive while a run is at work: heard once, in their place, and never lost. */
import { describe, expect, test } from "vitest";
import { memorySecrets } from "../../../src/adapters/memory/secrets.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import type { Conversation } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { show, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { send } from "../../../src/operations/steer.ts";
import { attempt, begin, drive, runnerOf } from "../../support/drive.ts";
import {
  OVER,
  type Part,
  type Stage,
  actor,
  callsThenOver,
  dieInTool,
  replyOf,
  rowOf,
  stage,
} from "../../support/stage.ts";

const words = (run: string, text = "take the train", id = "w1") => ({ run, text, by: "ann", id });

/** An agent that remembers each prompt as roles and words. */
function listening(part: Part) {
  const prompts: string[][] = [];
  const reply = (conversation: Conversation) => {
    prompts.push(conversation.messages.map(({ role, text }) => `${role}: ${text}`));
    return (part.reply ?? callsThenOver(1))(conversation);
  };
  return { prompts, agent: actor({ ...part, reply }) };
}

const said = async (world: World, run: string): Promise<readonly string[]> =>
  ((await transcript(world, run)) ?? []).filter(({ source }) => source === "user:ann").map(({ id }) => id);

const heardIn = (prompt: readonly string[] = []): number =>
  prompt.filter((each) => each === "user: take the train").length;

describe("words", () => {
  test("reach the model once, also when they are sent twice under one id", async () => {
    const on = stage();
    const { agent, prompts } = listening({});
    const payload = await begin(on.world, agent, {});
    expect(await send(on.world, words(payload.run))).toEqual({ kind: "delivered" });
    expect(await send(on.world, words(payload.run))).toEqual({ kind: "duplicate" });
    expect(await send(on.world, words(payload.run, "something else"))).toEqual({ kind: "conflict" });
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(heardIn)).toEqual([1, 1]);
    expect(JSON.stringify(prompts)).not.toContain("something else");
    // Schedule 27: its item is deleted, and a late retry of its sender is still a duplicate of an ended run.
    expect(await on.world.table.inbox({ ...payload, now: on.clock.now(), limit: 9 })).toEqual([]);
  });

  test("that arrive during a call follow its result", async () => {
    const on = stage();
    const run = async (): Promise<string> => {
      await send(on.world, words(payload.run));
      return "acted";
    };
    const { agent, prompts } = listening({ run });
    const payload = await begin(on.world, agent, {});
    await drive(runnerOf(on.world, agent), payload);
    expect(prompts.at(-1)).toEqual(["user: {}", "assistant: ", "tool: acted", "user: take the train"]);
  });

  test("absorbed while a call is open follow its result in the prompt, not in the transcript", async () => {
    const on = stage();
    const { agent, prompts } = listening({ effect: "unsafe" });
    const payload = await begin(on.world, agent, {});
    await dieInTool(on, { payload, agent });
    const blocked = await replyOf(attempt(runnerOf(on.world, agent), payload, 1));
    expect(blocked.route).toBe("park");
    await send(on.world, words(payload.run));
    const still = await replyOf(attempt(runnerOf(on.world, agent), blocked));
    expect(still.route).toBe("park");
    expect(await said(on.world, payload.run)).toEqual(["m3"]);
    const answer = { run: payload.run, call: "c1", as: "succeeded", result: "booked", by: "ann", note: null } as const;
    expect(await reconcile(on.world, answer)).toEqual({ kind: "accepted" });
    expect(await drive(runnerOf(on.world, agent), still)).toMatchObject({ route: "done" });
    expect(prompts.at(-1)).toEqual(["user: {}", "assistant: ", "tool: booked", "user: take the train"]);
  });

  test("to a run that has ended come late, to one that is not there miss it, and too many are refused", async () => {
    const on = stage();
    const { agent } = listening({});
    const payload = await begin(on.world, agent, {});
    const bytes = SIZES.messageBytesMax;
    expect(await send(on.world, words(payload.run, "é".repeat(bytes / 2 + 1)))).toEqual({
      kind: "tooLarge",
      bytes: bytes + 2,
    });
    expect(rowOf(on, payload.run).wakeCount).toBe(0);
    expect(await send(on.world, words(payload.run, "e".repeat(bytes), "w2"))).toEqual({ kind: "delivered" });
    await drive(runnerOf(on.world, agent), payload);
    expect(await send(on.world, words(payload.run))).toEqual({ kind: "late" });
    expect(await send(on.world, words(`local-${"a".repeat(26)}`))).toEqual({ kind: "missing" });
  });
});

describe("schedule 12: words that are acknowledged after the model said that it is done", () => {
  /** Sends as soon as that happens, once. */
  const sending = (on: Stage, run: () => string) => {
    let sent = false;
    return async (): Promise<void> => {
      if (sent) return;
      sent = true;
      expect(await send(on.world, words(run()))).toEqual({ kind: "delivered" });
    };
  };

  test("before the inbox is read for the end", async () => {
    const on = stage();
    const now = sending(on, () => payload.run);
    const holds = async (): Promise<boolean> => {
      await now();
      return true;
    };
    const { agent, prompts } = listening({ reply: () => OVER, done: [{ name: "talks", holds }] });
    const payload = await begin(on.world, agent, {});
    expect(await drive(runnerOf(on.world, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(heardIn)).toEqual([0, 1]);
  });

  test("after the inbox is read and before the end is committed", async () => {
    const on = stage();
    const { agent, prompts } = listening({ reply: () => OVER });
    const payload = await begin(on.world, agent, {});
    const now = sending(on, () => payload.run);
    const inbox: World["table"]["inbox"] = async (of) => {
      const found = await on.world.table.inbox(of);
      await now();
      return found;
    };
    const late: World = { ...on.world, table: { ...on.world.table, inbox } };
    expect(await drive(runnerOf(late, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(heardIn)).toEqual([0, 1]);
    expect(await said(on.world, payload.run)).toHaveLength(1);
    expect(await show(on.world, payload.run)).toMatchObject({ status: "completed" });
  });
});

describe("an id that was used before, with words that hold a secret", () => {
  test("is a duplicate whatever its words are, in a process that knows the secret and in one that does not", async () => {
    const on = stage();
    const payload = await begin(on.world, actor({}), {});
    const [run, text] = [payload.run, "the password is correct-horse"];
    const knowing = { ...on.world, secrets: memorySecrets({ PASSWORD: "correct-horse" }) };
    await knowing.secrets.declare(["PASSWORD"]);
    expect(await send(on.world, { ...words(run, text), id: "w1" })).toEqual({ kind: "delivered" });
    expect(await send(knowing, { ...words(run, text), id: "w1" })).toEqual({ kind: "duplicate" });
    expect(await send(knowing, { ...words(run, text), id: "w2" })).toEqual({ kind: "delivered" });
    expect(await send(on.world, { ...words(run, text), id: "w2" })).toEqual({ kind: "duplicate" });
    const digests = [...on.world.store.messages.values()].map(({ digest }) => digest);
    expect(digests).toEqual([on.world.hash(text), null]);
  });
});
