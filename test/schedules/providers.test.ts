/** Outages of a model's provider: no call that may have been paid for is forgotten, whoever dies in between. */
import { expect, test } from "vitest";
import type { Agent } from "../../src/ports/agent.ts";
import { type Conversation, scriptedModel } from "../../src/index.ts";
import { timeline } from "../../src/operations/views.ts";
import { send } from "../../src/operations/steer.ts";
import { AT } from "../support/build.ts";
import { begin, mortal } from "../support/drive.ts";
import { HOUR, playFor } from "../support/passing-time.ts";
import { actor, callsThenOver, chainedStage, never, passing, rowOf } from "../support/stage.ts";
import { hear, leave, lose, perform, step } from "../support/steps.ts";

const refused = (): Error => Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const silent = scriptedModel({ name: "silent", reply: never });

test("schedule 85: somebody wakes a run that waits for its model, and a process dies while it asks early; the call is debited", async () => {
  const on = chainedStage();
  const agent = actor({
    reply: (conversation) => {
      if (on.clock.now() - AT < 2 * HOUR) throw refused();
      return callsThenOver(1)(conversation);
    },
  });
  const { run } = await begin(on.world, agent, {});
  await playFor(on, agent, HOUR);
  await send(on.world, { run, text: "are you there?", by: "ann", id: "w1" });
  const { world, kill } = mortal(on.world);
  await lose(on, { ...agent, model: silent }, world);
  kill();
  // What the next claim reads says that the model may have been asked, although its time had not come.
  expect(rowOf(on, run)).toMatchObject({ phase: "RetryingLLM", owner: expect.any(String) });
  await playFor(on, agent, 2 * HOUR);
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  expect(events.filter(({ kind }) => kind === "ModelCallLost")).toMatchObject([{ calls: 1 }]);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
});

test("schedule 86: a call times out, its invocation asks the fallback at once and dies; both calls are debited", async () => {
  // One invocation has time for both calls.
  const on = chainedStage({ modelMs: 200 });
  let left = 0;
  const modelThat = (reply: Parameters<typeof scriptedModel>[0]["reply"]) => {
    const counted = (conversation: Conversation) => {
      left += 1;
      return reply(conversation);
    };
    return scriptedModel({ name: "m", reply: counted });
  };
  const agentWith = (fallback: ReturnType<typeof modelThat>): Agent => ({
    ...actor({}),
    model: modelThat(() => ({ text: "late", delayMs: 1e9 })),
    fallbacks: [{ model: fallback, price: { inUsd: 0, outUsd: 0 }, priceFrom: { kind: "none" } }],
  });
  const agent = agentWith(modelThat(callsThenOver(1)));
  const { run } = await begin(on.world, agent, {});
  // The quick retries.
  for (let beats = 0; beats < 3; beats += 1) await step(on, agent);
  const { world, kill } = mortal(on.world);
  const asksFallback = Promise.withResolvers<void>();
  const stuck = agentWith(
    modelThat(() => {
      asksFallback.resolve();
      return never();
    }),
  );
  const out = leave(on);
  perform(out.task, { world, agent: stuck }).catch(() => undefined);
  await passing(on, asksFallback.promise);
  kill();
  hear(on, out, null);
  await playFor(on, agent, HOUR);
  const events = (await timeline(on.world, { run, after: 0 })) ?? [];
  const lost = events.flatMap((event) => (event.kind === "ModelCallLost" ? [event.calls] : []));
  const replies = events.filter(({ kind }) => kind === "ModelCallCompleted").length;
  expect(lost.reduce((sum, calls) => sum + calls, 0) + replies).toBe(left);
  expect(rowOf(on, run)).toMatchObject({ status: "completed" });
});
