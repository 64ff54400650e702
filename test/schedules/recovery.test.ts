/** Model calls whose replies nobody has: they are counted however they were lost, and last words are asked for once. */
import type { Agent } from "../../src/ports/agent.ts";
import { expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { ScriptedReply } from "../../src/index.ts";
import type { EventOf } from "../../src/core/event.ts";
import type { World } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { beginRun, killableWorld } from "../support/harness/drive.ts";
import { storeOutage, attemptDuringOutage } from "../support/faults/store-outages.ts";
import { smallContextAgent } from "../support/agents/small-context-agent.ts";
import {
  FINAL_REPLY,
  type Harness,
  scriptedAgent,
  callsThenFinal,
  createChainHarness,
  neverSettles,
} from "../support/harness/harness.ts";
import { wrapTableCall, recoveryRulesOf } from "../support/harness/chain-steps.ts";

const lostIn = async (world: World, run: string): Promise<readonly number[]> =>
  ((await timeline(world, { run, after: 0 })) ?? [])
    .filter((event): event is typeof event & EventOf<"ModelCallLost"> => event.kind === "ModelCallLost")
    .map(({ calls }) => calls);

const CALL: ScriptedReply = { calls: [{ tool: "act", args: {} }] };

/** It does the same for ever, and counts how often it is asked for its last words. */
function loopingAgent(closingReply: () => ScriptedReply | Promise<never>) {
  const asked = { closings: 0 };
  const agent = scriptedAgent({
    effect: "none",
    loops: "stop",
    reply: ({ messages }) => {
      if (!messages.at(-1)?.text.startsWith("You have to stop now")) return CALL;
      asked.closings += 1;
      return closingReply();
    },
  });
  return { agent, asked };
}

/** The attempt dies with whatever it waits for. */
async function die(harness: Harness, agent: Agent): Promise<void> {
  const { world, kill } = killableWorld(harness.world);
  await harness.loseAttempt(agent, world);
  kill();
}

async function runUntilLoop(harness: Harness, agent: Agent): Promise<string> {
  const { run } = await beginRun(harness.world, agent, {});
  for (let beat = 0; beat < BOUNDS.loopRepeats; beat += 1) await harness.runAttempt(agent);
  expect(harness.row(run)).toMatchObject({ phase: "AwaitingLLM" });
  return run;
}

test("schedule 65: a process dies during a closing call; the call counts as lost and is not repeated", async () => {
  const harness = createChainHarness();
  const { agent, asked } = loopingAgent(neverSettles);
  const run = await runUntilLoop(harness, agent);
  await die(harness, agent);
  expect(harness.row(run)).toMatchObject({ phase: "ForceStop", status: "running" });
  await harness.runUntilIdle(agent);
  expect(asked.closings).toBe(1);
  expect(harness.row(run)).toMatchObject({ status: "failed" });
  expect(await lostIn(harness.world, run)).toEqual([1]);
  expect(await recoveryRulesOf(harness.world, run)).toEqual([
    "loop detector",
    "takeover",
    "stops without a closing reply",
  ]);
  // Its model has spoken, and the end that follows is not stored.
  const other = createChainHarness();
  const { agent: speaker, asked: heard } = loopingAgent(() => FINAL_REPLY);
  const stopping = await runUntilLoop(other, speaker);
  const objects = storeOutage(other.world, "objects");
  const world = wrapTableCall(objects.world, "unread", (call) => (...of) => {
    objects.isAway = heard.closings > 0;
    return call(...of);
  });
  await attemptDuringOutage(other, speaker, world);
  expect({ row: other.row(stopping), closings: heard.closings }).toMatchObject({
    row: { phase: "ForceStop", storeOutage: { store: "the objects" } },
    closings: 1,
  });
  await other.runUntilIdle(speaker);
  expect({ status: other.row(stopping).status, closings: heard.closings }).toEqual({
    status: "failed",
    closings: 1,
  });
  expect(await lostIn(other.world, stopping)).toEqual([1]);
});

test("schedule 66: a process dies during a model call, and an operator requests a pause; the call is debited", async () => {
  const harness = createChainHarness();
  const agent = scriptedAgent({ reply: () => FINAL_REPLY });
  const { run } = await beginRun(harness.world, agent, {});
  await die(harness, scriptedAgent({ reply: neverSettles }));
  await sendRequest(harness.world, { run, want: "pause" });
  await harness.runUntilIdle(agent);
  expect(harness.row(run).status).toBe("paused");
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, lost: await lostIn(harness.world, run) }).toEqual({
    status: "completed",
    lost: [1],
  });
  // The same for last words: a pause is no way to have them twice.
  const other = createChainHarness();
  const { agent: circler, asked } = loopingAgent(neverSettles);
  const stopping = await runUntilLoop(other, circler);
  await die(other, circler);
  await sendRequest(other.world, { run: stopping, want: "pause" });
  await other.runUntilIdle(circler);
  expect(other.row(stopping).status).toBe("paused");
  await sendRequest(other.world, { run: stopping, want: "resume" });
  await other.runUntilIdle(circler);
  expect({ status: other.row(stopping).status, closings: asked.closings }).toEqual({
    status: "failed",
    closings: 1,
  });
  expect(await lostIn(other.world, stopping)).toEqual([1]);
});

test("schedule 67: an invocation commits, calls its model once more and dies; that call is debited too", async () => {
  const harness = createChainHarness({ beatsPerInvocation: 2 });
  // What an unsafe call came to is committed before its model hears of it, by the same invocation.
  const agent = scriptedAgent({ effect: "unsafe" });
  const once = callsThenFinal(1);
  const { run } = await beginRun(harness.world, agent, {});
  await die(
    harness,
    scriptedAgent({ effect: "unsafe", reply: (asked) => (asked.calls.length === 0 ? once(asked) : neverSettles()) }),
  );
  expect(harness.row(run)).toMatchObject({ phase: "AwaitingLLM" });
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, lost: await lostIn(harness.world, run) }).toEqual({
    status: "completed",
    lost: [1],
  });
});

test("schedule 73: a process dies during a summary or the call after it; each call is counted once", async () => {
  const harness = createChainHarness();
  const { agent, counts } = smallContextAgent({ pages: 2 });
  const { run } = await beginRun(harness.world, agent, {});
  for (let beat = 0; beat < 2; beat += 1) await harness.runAttempt(agent);
  const silent = smallContextAgent({ pages: 2, summary: neverSettles });
  await die(harness, silent.agent);
  expect({ phase: harness.row(run).phase, summaries: silent.counts.summaries }).toEqual({
    phase: "Compacting",
    summaries: 1,
  });
  // The next one gets its summary, asks on in the same breath, and dies there.
  const stuck = smallContextAgent({ pages: 2, reply: neverSettles });
  await die(harness, stuck.agent);
  expect({ phase: harness.row(run).phase, summaries: stuck.counts.summaries }).toEqual({
    phase: "AwaitingLLM",
    summaries: 1,
  });
  await harness.runUntilIdle(agent);
  expect({ status: harness.row(run).status, summaries: counts.summaries }).toEqual({
    status: "completed",
    summaries: 0,
  });
  expect(await lostIn(harness.world, run)).toEqual([1, 1]);
  const debits = (await timeline(harness.world, { run, after: 0 })) ?? [];
  const kept = debits.flatMap((event) =>
    event.kind === "BudgetDebited" && event.debit.tokensIn === 70 ? [event] : [],
  );
  expect(kept).toHaveLength(1);
});
