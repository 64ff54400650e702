/** Words for the model that arrive while a run is at work: heard once, in their place, and never lost. */
import { describe, expect, test } from "vitest";
import { memorySecrets } from "../../../src/adapters/memory/secrets.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import type { Conversation } from "../../../src/index.ts";
import type { World } from "../../../src/ports/world.ts";
import { show, transcript } from "../../../src/operations/views.ts";
import { reconcile } from "../../../src/operations/reconcile.ts";
import { send } from "../../../src/operations/steer.ts";
import { attemptBeat, beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  FINAL_REPLY,
  type ScriptedAgentOptions,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  dieInTool,
  beatReply,
  createHarness,
} from "../../support/harness/harness.ts";

const words = (run: string, text = "take the train", id = "w1") => ({ run, text, by: "ann", id });

/** An agent that remembers each prompt as roles and words. */
function listening(part: ScriptedAgentOptions) {
  const prompts: string[][] = [];
  const reply = (conversation: Conversation) => {
    prompts.push(conversation.messages.map(({ role, text }) => `${role}: ${text}`));
    return (part.reply ?? callsThenFinal(1))(conversation);
  };
  return { prompts, agent: scriptedAgent({ ...part, reply }) };
}

const said = async (world: World, run: string): Promise<readonly string[]> =>
  ((await transcript(world, run)) ?? []).filter(({ source }) => source === "user:ann").map(({ id }) => id);

const wordsIn = (prompt: readonly string[] = []): number =>
  prompt.filter((each) => each === "user: take the train").length;

describe("messages", () => {
  test("reach the model once, even if they are sent twice under one ID", async () => {
    const harness = createHarness();
    const { agent, prompts } = listening({});
    const payload = await beginRun(harness.world, agent, {});
    expect(await send(harness.world, words(payload.run))).toEqual({ kind: "delivered" });
    expect(await send(harness.world, words(payload.run))).toEqual({ kind: "duplicate" });
    expect(await send(harness.world, words(payload.run, "something else"))).toEqual({ kind: "conflict" });
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(wordsIn)).toEqual([1, 1]);
    expect(JSON.stringify(prompts)).not.toContain("something else");
    // Schedule 27: its item is deleted, and a late retry of its sender is still a duplicate of an ended run.
    expect(await harness.world.inbox.unread({ ...payload, now: harness.clock.now(), limit: 9 })).toEqual([]);
  });

  test("that arrive during a call follow its result", async () => {
    const harness = createHarness();
    const run = async (): Promise<string> => {
      await send(harness.world, words(payload.run));
      return "acted";
    };
    const { agent, prompts } = listening({ run });
    const payload = await beginRun(harness.world, agent, {});
    await drive(runnerOf(harness.world, agent), payload);
    expect(prompts.at(-1)).toEqual(["user: {}", "assistant: ", "tool: acted", "user: take the train"]);
  });

  test("absorbed while a call is open follow its result in the prompt, not in the transcript", async () => {
    const harness = createHarness();
    const { agent, prompts } = listening({ effect: "unsafe" });
    const payload = await beginRun(harness.world, agent, {});
    await dieInTool(harness, { payload, agent });
    const blocked = await beatReply(attemptBeat(runnerOf(harness.world, agent), payload, 1));
    expect(blocked.route).toBe("park");
    await send(harness.world, words(payload.run));
    const still = await beatReply(attemptBeat(runnerOf(harness.world, agent), blocked));
    expect(still.route).toBe("park");
    expect(await said(harness.world, payload.run)).toEqual(["m3"]);
    const answer = { run: payload.run, call: "c1", as: "succeeded", result: "booked", by: "ann", note: null } as const;
    expect(await reconcile(harness.world, answer)).toEqual({ kind: "accepted" });
    expect(await drive(runnerOf(harness.world, agent), still)).toMatchObject({ route: "done" });
    expect(prompts.at(-1)).toEqual(["user: {}", "assistant: ", "tool: booked", "user: take the train"]);
  });

  test("are late for an ended run, have no missing run, and are refused when there are too many", async () => {
    const harness = createHarness();
    const { agent } = listening({});
    const payload = await beginRun(harness.world, agent, {});
    const bytes = SIZES.messageBytesMax;
    expect(await send(harness.world, words(payload.run, "é".repeat(bytes / 2 + 1)))).toEqual({
      kind: "tooLarge",
      bytes: bytes + 2,
    });
    expect(harness.row(payload.run).wakeCount).toBe(0);
    expect(await send(harness.world, words(payload.run, "e".repeat(bytes), "w2"))).toEqual({ kind: "delivered" });
    await drive(runnerOf(harness.world, agent), payload);
    expect(await send(harness.world, words(payload.run))).toEqual({ kind: "late" });
    expect(await send(harness.world, words(`local-${"a".repeat(26)}`))).toEqual({ kind: "missing" });
  });
});

describe("schedule 12: a message that is acknowledged after the model was done", () => {
  /** Sends as soon as that happens, once. */
  const sending = (harness: Harness, run: () => string) => {
    let sent = false;
    return async (): Promise<void> => {
      if (sent) return;
      sent = true;
      expect(await send(harness.world, words(run()))).toEqual({ kind: "delivered" });
    };
  };

  test("arrives before the inbox is read for the end", async () => {
    const harness = createHarness();
    const now = sending(harness, () => payload.run);
    const holds = async (): Promise<boolean> => {
      await now();
      return true;
    };
    const { agent, prompts } = listening({ reply: () => FINAL_REPLY, done: [{ name: "talks", holds }] });
    const payload = await beginRun(harness.world, agent, {});
    expect(await drive(runnerOf(harness.world, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(wordsIn)).toEqual([0, 1]);
  });

  test("arrives after the inbox is read and before the end commits", async () => {
    const harness = createHarness();
    const { agent, prompts } = listening({ reply: () => FINAL_REPLY });
    const payload = await beginRun(harness.world, agent, {});
    const now = sending(harness, () => payload.run);
    const unread: World["inbox"]["unread"] = async (of) => {
      const found = await harness.world.inbox.unread(of);
      await now();
      return found;
    };
    const late: World = { ...harness.world, inbox: { ...harness.world.inbox, unread } };
    expect(await drive(runnerOf(late, agent), payload)).toMatchObject({ route: "done" });
    expect(prompts.map(wordsIn)).toEqual([0, 1]);
    expect(await said(harness.world, payload.run)).toHaveLength(1);
    expect(await show(harness.world, payload.run)).toMatchObject({ status: "completed" });
  });
});

describe("a message with a used ID that contains a secret", () => {
  test("is a duplicate whatever its text, in a process that knows the secret and in one that does not", async () => {
    const harness = createHarness();
    const payload = await beginRun(harness.world, scriptedAgent({}), {});
    const [run, text] = [payload.run, "the password is correct-horse"];
    const knowing = { ...harness.world, secrets: memorySecrets({ PASSWORD: "correct-horse" }) };
    await knowing.secrets.declare(["PASSWORD"]);
    expect(await send(harness.world, { ...words(run, text), id: "w1" })).toEqual({ kind: "delivered" });
    expect(await send(knowing, { ...words(run, text), id: "w1" })).toEqual({ kind: "duplicate" });
    expect(await send(knowing, { ...words(run, text), id: "w2" })).toEqual({ kind: "delivered" });
    expect(await send(harness.world, { ...words(run, text), id: "w2" })).toEqual({ kind: "duplicate" });
    const digests = [...harness.world.store.messages.values()].map(({ digest }) => digest);
    expect(digests).toEqual([harness.world.hash(text), null]);
  });
});
