/** Conversations: what the wait for the next message must hold against deaths, limits and early messages. */
import { expect, test } from "vitest";
import { send } from "../../src/operations/steer.ts";
import { type ChatAgentOptions, IDLE_MS, chatAgent, echo } from "../support/agents/chat-agent.ts";
import { stateOf } from "../support/agents/approval-agent.ts";
import { beforeCall, runAttempt, runUntilIdle, startKeyedRun } from "../support/harness/chain-steps.ts";
import { createChainHarness, rowOf } from "../support/harness/harness.ts";

async function begun(of: ChatAgentOptions = {}) {
  const agent = chatAgent(of);
  const harness = createChainHarness();
  const { run } = await startKeyedRun(harness.world, { agent, key: "chat", input: "hello" });
  const say = (text: string) => send(harness.world, { run, text, by: "ann", id: text });
  const answers = async () =>
    (await stateOf(harness.world, run)).messages.flatMap(({ role, parts }) =>
      role === "assistant" ? parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])) : [],
    );
  return { agent, harness, run, say, answers };
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
  await runAttempt(harness, agent, world);
  await runUntilIdle(harness, agent);
  expect(isSaid).toBe(true);
  expect((await answers()).at(-1)).toBe("You said: and now?");
  expect(rowOf(harness, run).status).toBe("waiting");
});

test("schedule 187: the limit of a conversation passes, and a message is acknowledged before its end commits; the run answers it", async () => {
  const { agent, harness, run, say, answers } = await begun({ reply: echo });
  await runUntilIdle(harness, agent);
  harness.clock.moveTo(harness.clock.now() + IDLE_MS);
  const sent: unknown[] = [];
  const world = beforeCall(harness.world, "unread", async () => {
    if (sent.length === 0) sent.push(await say("still there?"));
  });
  await runAttempt(harness, agent, world);
  await runUntilIdle(harness, agent);
  expect(sent).toEqual([{ kind: "delivered" }]);
  expect((await answers()).at(-1)).toBe("You said: still there?");
  expect(rowOf(harness, run).status).toBe("waiting");
});
