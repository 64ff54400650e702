/** What model calls leave behind in their process: nothing, however many beats it performs. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { executionName } from "../../../src/protocol/ids.ts";
import { beat } from "../../../src/engine/loop/beat.ts";
import { beginRun, runnerOf } from "../../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../../support/harness/harness.ts";

test("no listener of a model call stays on the signal by which its process is asked to end", async () => {
  const harness = createHarness({ beatsPerInvocation: 10 });
  const seen: number[] = [];
  const drain = new AbortController().signal;
  const reply = callsThenFinal(4);
  const agent = scriptedAgent({
    reply: (conversation) => {
      seen.push(getEventListeners(drain, "abort").length);
      return reply(conversation);
    },
  });
  const payload = await beginRun(harness.world, agent, {});
  const execution = executionName(payload.run, payload.born, payload.chain);
  const attempt = { execution, epoch: payload.epoch, retry: 0, died: null };
  const deadline = harness.clock.now() + harness.world.limits.beatMs;
  const { kind } = await beat(runnerOf(harness.world, agent), { payload, attempt }, { deadline, drain });
  expect({ kind, seen }).toEqual({ kind: "beat", seen: [1, 1, 1, 1, 1] });
  expect(getEventListeners(drain, "abort")).toEqual([]);
});
