/** Conversations: a run that has answered waits for its user's next message without a process. */
import { describe, expect, it } from "vitest";
import { NEXT_MESSAGE, withNextMessage } from "../../../src/core/calls/next-message.ts";
import type { ReplyPart } from "../../../src/core/event.ts";
import { inline } from "../../../src/core/message.ts";
import { defineAgent } from "../../../src/index.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { signal } from "../../../src/operations/signal.ts";
import { send } from "../../../src/operations/steer.ts";
import { show, timeline } from "../../../src/operations/views.ts";
import { type ChatAgentOptions, IDLE_MS, chatAgent } from "../../support/agents/chat-agent.ts";
import { stateOf } from "../../support/agents/approval-agent.ts";
import type { TaskResult } from "../../../src/protocol/chain.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";

const DAY_MS = 86_400_000;

async function started(of: ChatAgentOptions = {}) {
  const agent = chatAgent(of);
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "chat", input: "hello" });
  await harness.runUntilIdle(agent);
  let sent = 0;
  const say = async (text: string): Promise<void> => {
    sent += 1;
    expect(await send(harness.world, { run, text, by: "ann", id: `s${sent}` })).toEqual({ kind: "delivered" });
    await harness.runUntilIdle(agent);
  };
  return { agent, harness, run, say };
}

const answersOf = async ({ world }: Harness, run: string): Promise<readonly string[]> =>
  ((await stateOf(world, run)).messages ?? []).flatMap(({ role, parts }) =>
    role === "assistant" ? parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
  );

describe("a conversation", () => {
  it("waits after an answer, answers each message, and never shows its wait to the model", async () => {
    const seen: string[] = [];
    const { harness, run, say } = await started({
      reply: ({ messages, calls }) => {
        seen.push(JSON.stringify([messages, calls]));
        return { text: `answer ${messages.length}` };
      },
    });
    expect(harness.row(run)).toMatchObject({ status: "waiting", owner: null });
    await say("and then?");
    await say("thanks");
    expect(await answersOf(harness, run)).toEqual(["answer 1", "answer 3", "answer 5"]);
    expect(seen.join("")).not.toContain(NEXT_MESSAGE);
    expect(harness.row(run).status).toBe("waiting");
  });

  it("lets no process work while it waits, for longer than a run may wait in all", async () => {
    const { agent, harness, run, say } = await started({ chat: true });
    for (let month = 0; month < 4; month += 1) {
      harness.clock.moveTo(harness.clock.now() + 25 * DAY_MS);
      expect(await harness.runUntilIdle(agent)).toBe(0);
      await say(`month ${month}`);
    }
    expect((await answersOf(harness, run)).at(-1)).toBe("You said: month 3");
    expect(harness.row(run).status).toBe("waiting");
  });

  it("completes with its last answer when its user stays away", async () => {
    const { agent, harness, run, say } = await started();
    await say("look at this");
    harness.clock.moveTo(harness.clock.now() + IDLE_MS);
    await harness.runUntilIdle(agent);
    expect(await show(harness.world, run)).toMatchObject({ status: "completed", result: "You said: look at this" });
  });

  it("counts its waits as no tool calls, and its replies over the whole conversation", async () => {
    const { harness, run, say } = await started();
    await say("look at this");
    expect(harness.row(run).spent).toMatchObject({ beats: 3, toolCalls: 1, tokensIn: 30, tokensOut: 15 });
  });

  it("ends when it is cancelled while it waits", async () => {
    const { agent, harness, run } = await started();
    await sendRequest(harness.world, { run, want: "cancel" });
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("cancelled");
  });

  it("takes no signal for a message", async () => {
    const { agent, harness, run } = await started();
    await signal(harness.world, {
      run,
      event: "cairn.message",
      detail: { text: "hi" },
      by: "bob",
      id: "x",
      agent: null,
    });
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("waiting");
    const kinds = ((await timeline(harness.world, { run, after: 0 })) ?? []).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "ModelCallCompleted")).toHaveLength(1);
  });

  it("answers a message exactly once, whichever of its processes dies at whichever call", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const { agent, harness, run } = await started();
      await send(harness.world, { run, text: "and now?", by: "ann", id: "s1" });
      const { world, survives } = crashAtCall(harness.world, crash);
      const out = harness.startAttempt();
      let result: TaskResult | null = null;
      const lived = await survives(async () => (result = await out.perform({ world, agent })));
      out.end(result);
      await harness.runUntilIdle(agent);
      expect(await answersOf(harness, run)).toEqual(["You said: hello", "You said: and now?"]);
      return lived;
    });
    expect(crashes).toBeGreaterThan(5);
  });

  it.each([
    [{ done: [{ name: "x", holds: () => true }] }, "checks of done"],
    [{ chat: { idle: "60d" } }, "chat.idle"],
    [{ tools: { [NEXT_MESSAGE]: chatAgent().tools["look"] } }, "a name of cairn"],
  ])("refuses an agent with %o", (part, why) => {
    const { name, version, instructions, model, task } = chatAgent();
    const options = { name, version, instructions, model, task, tools: {}, chat: true, ...part };
    expect(() => defineAgent(options as Parameters<typeof defineAgent>[0])).toThrow(why);
  });
});

it("takes no reply that calls tools for an answer, whatever it says beside them", () => {
  const answer: ReplyPart = { kind: "text", text: "I look." };
  const calls: readonly ReplyPart[] = [answer, { kind: "call", tool: "look", args: inline({}), provider: null }];
  expect(withNextMessage(calls)).toEqual(calls);
  expect(withNextMessage([answer])).toHaveLength(2);
});
