/** Outages of a model's provider: no call that may have been paid for is forgotten, whoever dies in between. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { type Conversation, scriptedModel } from "../../src/index.ts";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { AT } from "../support/states/states-and-events.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import { scriptedAgent, callsThenFinal, createChainHarness, neverSettles, MS } from "../support/harness/harness.ts";

const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const silent = scriptedModel({ name: "silent", reply: neverSettles });

test("schedule 85: a message wakes a run that waits for its model, and a process dies in the early call; it is debited", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({
    reply: (conversation) => {
      if (harness.clock.now() - AT < 2 * MS.hour) throw refused();
      return callsThenFinal(1)(conversation);
    },
  });
  const { run } = await beginRun(harness.world, agent, {});
  await harness.runForTime(agent, MS.hour);
  await send(harness.world, { run, text: "are you there?", by: "ann", id: "w1" });
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt({ ...agent, model: silent }, world);
  kill();
  // What the next claim reads says that the model may have been asked, although its time had not come.
  expect(harness.row(run)).toMatchObject({ phase: "RetryingLLM", owner: expect.any(String) });
  await harness.runForTime(agent, 2 * MS.hour);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
});

test("schedule 86: a call times out, its invocation calls the fallback at once and dies; both calls are debited", async () => {
  // One invocation has time for both calls.
  const harness = createChainHarness({ modelMs: 200 });
  let left = 0;
  const modelThat = (reply: Parameters<typeof scriptedModel>[0]["reply"]) => {
    const counted = (conversation: Conversation) => {
      left += 1;
      return reply(conversation);
    };
    return scriptedModel({ name: "m", reply: counted });
  };
  const agentWith = (fallback: ReturnType<typeof modelThat>): Agent => ({
    ...scriptedAgent({}),
    model: modelThat(() => ({ text: "late", delayMs: 1e9 })),
    fallbacks: [{ model: fallback, price: { inUsd: 0, outUsd: 0 }, priceFrom: { kind: "none" } }],
  });
  const agent = agentWith(modelThat(callsThenFinal(1)));
  const { run } = await beginRun(harness.world, agent, {});
  // The quick retries.
  for (let beats = 0; beats < 3; beats += 1) await harness.runAttempt(agent);
  const { world, kill } = killableWorld(harness.world);
  const asksFallback = Promise.withResolvers<void>();
  const stuck = agentWith(
    modelThat(() => {
      asksFallback.resolve();
      return neverSettles();
    }),
  );
  const out = harness.startAttempt();
  out.perform({ world, agent: stuck }).catch(() => undefined);
  await harness.advanceUntilSettled(asksFallback.promise);
  kill();
  out.end(null);
  await harness.runForTime(agent, MS.hour);
  const events = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const lost = events.flatMap((event) => (event.kind === "ModelCallLost" ? [event.calls] : []));
  const replies = events.filter(({ kind }) => kind === "ModelCallCompleted").length;
  expect(lost.reduce((sum, calls) => sum + calls, 0) + replies).toBe(left);
  expect(harness.row(run)).toMatchObject({ status: "completed" });
});
