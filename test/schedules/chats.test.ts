/** Conversations: what the wait for the next message must hold against deaths, limits and early messages. */
import { expect, test } from "vitest";
import { z } from "zod";
import { tool } from "../../src/index.ts";
import { ledger } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { type ChatAgentOptions, IDLE_MS, chatAgent, echo } from "../support/agents/chat-agent.ts";
import { stateOf } from "../support/agents/approval-agent.ts";
import { beforeCall, startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness } from "../support/harness/harness.ts";

async function begun(of: ChatAgentOptions = {}) {
  const agent = chatAgent(of);
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "chat", input: "hello" });
  const say = (text: string) => send(harness.world, { run, text, by: "ann", id: text });
  const answers = async () =>
    (await stateOf(harness.world, run)).messages.flatMap(({ role, parts }) =>
      role === "assistant" ? parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
    );
  const stop = () => send(harness.world, { run, text: "I stopped this answer.", by: "ann", id: "s1", stop: true });
  return { agent, harness, run, say, stop, answers };
}

/** A conversation that acts outside in its first answer. `acts`: what the tool does, by how often it was called before. */
async function acting(acts: (before: number) => unknown) {
  const acted: string[] = [];
  const act = tool({
    ...{ input: z.object({}), effect: "keyed" },
    run: ({ key }) => {
      acted.push(key);
      return acts(acted.length - 1) as never;
    },
  });
  const tokens = { tokensIn: 1, tokensOut: 1 };
  const chat = await begun({
    tools: { act },
    reply: ({ messages }) =>
      messages.at(-1)?.role === "user"
        ? { calls: [{ tool: "act", args: {} }], ...tokens }
        : { text: "Done.", ...tokens },
  });
  const call = async () => (await ledger(chat.harness.world, chat.run))?.find(({ tool: name }) => name === "act");
  return { ...chat, acted, call };
}

test("schedule 186: a message comes while the run answers, before its wait begins; the run answers it and does not wait", async () => {
  let isSaid = false;
  const { agent, harness, run, say, answers } = await begun();
  const world = beforeCall(harness.world, "commit", async () => {
    // The reply is known, and its commit is on its way.
    if (isSaid) return;
    isSaid = true;
    await say("and now?");
  });
  await harness.runAttempt(agent, world);
  await harness.runUntilIdle(agent);
  expect(isSaid).toBe(true);
  expect((await answers()).at(-1)).toBe("You said: and now?");
  expect(harness.row(run).status).toBe("waiting");
});

test("schedule 187: the limit of a conversation passes, and a message is acknowledged before its end commits; the run answers it", async () => {
  const { agent, harness, run, say, answers } = await begun({ reply: echo });
  await harness.runUntilIdle(agent);
  harness.clock.moveTo(harness.clock.now() + IDLE_MS);
  const sent: unknown[] = [];
  const world = beforeCall(harness.world, "unread", async () => {
    if (sent.length === 0) sent.push(await say("still there?"));
  });
  await harness.runAttempt(agent, world);
  await harness.runUntilIdle(agent);
  expect(sent).toEqual([{ kind: "delivered" }]);
  expect((await answers()).at(-1)).toBe("You said: still there?");
  expect(harness.row(run).status).toBe("waiting");
});

test("schedule 277: a user stops an answer whose call an earlier invocation began; its outcome is found out", async () => {
  const { agent, harness, stop, acted, call, answers } = await acting((before) =>
    before === 0 ? new Promise(() => undefined) : "acted",
  );
  await harness.loseAttempt(agent, harness.world);
  expect(acted).toHaveLength(1);
  await stop();
  await harness.runUntilIdle(agent);
  expect(await call()).toMatchObject({ status: "succeeded" });
  expect(new Set(acted).size).toBe(1);
  expect(await answers()).toEqual(["Stopped."]);
});

test("schedule 278: a user stops an answer while the reply with its call is committed; the call never begins", async () => {
  const { agent, harness, run, stop, acted, call, answers } = await acting(() => "acted");
  let isSent = false;
  const world = beforeCall(harness.world, "commit", async () => {
    if (isSent) return;
    isSent = true;
    await stop();
  });
  await harness.runAttempt(agent, world);
  await harness.runUntilIdle(agent);
  expect(isSent).toBe(true);
  expect(acted).toEqual([]);
  expect(await call()).toMatchObject({ status: "failed" });
  expect(await answers()).toEqual(["Stopped."]);
  expect(harness.row(run).status).toBe("waiting");
});
