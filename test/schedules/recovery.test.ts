/** Model calls whose replies nobody has: they are counted however they were lost, and last words are asked for once. */
import { expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { ScriptedReply } from "../../src/index.ts";
import type { EventOf } from "../../src/core/event.ts";
import type { World } from "../../src/ports/world.ts";
import { timeline } from "../../src/operations/views.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { begin, mortal } from "../support/drive.ts";
import { outageOf, struggle } from "../support/outages.ts";
import { narrow } from "../support/narrow.ts";
import { OVER, type Stage, actor, callsThenOver, chainedStage, never, rowOf } from "../support/stage.ts";
import { lose, meeting, playOut, rulesOf, step } from "../support/steps.ts";

const lostIn = async (world: World, run: string): Promise<readonly number[]> =>
  ((await timeline(world, { run, after: 0 })) ?? [])
    .filter((event): event is typeof event & EventOf<"ModelCallLost"> => event.kind === "ModelCallLost")
    .map(({ calls }) => calls);

const CALL: ScriptedReply = { calls: [{ tool: "act", args: {} }] };

/** It does the same for ever, and counts how often it is asked for its last words. */
function circling(lastWords: () => ScriptedReply | Promise<never>) {
  const asked = { closings: 0 };
  const agent = actor({
    effect: "none",
    loops: "stop",
    reply: ({ messages }) => {
      if (!messages.at(-1)?.text.startsWith("You have to stop now")) return CALL;
      asked.closings += 1;
      return lastWords();
    },
  });
  return { agent, asked };
}

/** The attempt dies with whatever it waits for. */
async function die(on: Stage, agent: Parameters<typeof lose>[1]): Promise<void> {
  const { world, kill } = mortal(on.world);
  await lose(on, agent, world);
  kill();
}

async function untilItCircles(on: Stage, agent: Parameters<typeof lose>[1]): Promise<string> {
  const { run } = await begin(on.world, agent, {});
  for (let beat = 0; beat < BOUNDS.loopRepeats; beat += 1) await step(on, agent);
  expect(rowOf(on, run)).toMatchObject({ phase: "AwaitingLLM" });
  return run;
}

test("schedule 65: a process dies while it asks for last words; they are counted as lost and not asked for again", async () => {
  const on = chainedStage();
  const { agent, asked } = circling(never);
  const run = await untilItCircles(on, agent);
  await die(on, agent);
  expect(rowOf(on, run)).toMatchObject({ phase: "ForceStop", status: "running" });
  await playOut(on, agent);
  expect(asked.closings).toBe(1);
  expect(rowOf(on, run)).toMatchObject({ status: "failed" });
  expect(await lostIn(on.world, run)).toEqual([1]);
  expect(await rulesOf(on.world, run)).toEqual(["loop detector", "takeover", "stops without a closing reply"]);
  // Its model has spoken, and the end that follows is not stored.
  const other = chainedStage();
  const { agent: speaker, asked: heard } = circling(() => OVER);
  const stopping = await untilItCircles(other, speaker);
  const objects = outageOf(other.world, "objects");
  const world = meeting(objects.world, "inbox", (call) => (...of) => {
    objects.isAway = heard.closings > 0;
    return call(...of);
  });
  await struggle(other, speaker, world);
  expect([rowOf(other, stopping), heard.closings]).toMatchObject([
    { phase: "ForceStop", storeOutage: { store: "the objects" } },
    1,
  ]);
  await playOut(other, speaker);
  expect([rowOf(other, stopping).status, heard.closings]).toEqual(["failed", 1]);
  expect(await lostIn(other.world, stopping)).toEqual([1]);
});

test("schedule 66: a process dies while it asks its model, and somebody asks for a pause; what was asked is not forgotten", async () => {
  const on = chainedStage();
  const agent = actor({ reply: () => OVER });
  const { run } = await begin(on.world, agent, {});
  await die(on, actor({ reply: never }));
  await sendRequest(on.world, { run, want: "pause" });
  await playOut(on, agent);
  expect(rowOf(on, run).status).toBe("paused");
  await sendRequest(on.world, { run, want: "resume" });
  await playOut(on, agent);
  expect([rowOf(on, run).status, await lostIn(on.world, run)]).toEqual(["completed", [1]]);
  // The same for last words: a pause is no way to have them twice.
  const other = chainedStage();
  const { agent: circler, asked } = circling(never);
  const stopping = await untilItCircles(other, circler);
  await die(other, circler);
  await sendRequest(other.world, { run: stopping, want: "pause" });
  await playOut(other, circler);
  expect(rowOf(other, stopping).status).toBe("paused");
  await sendRequest(other.world, { run: stopping, want: "resume" });
  await playOut(other, circler);
  expect([rowOf(other, stopping).status, asked.closings]).toEqual(["failed", 1]);
  expect(await lostIn(other.world, stopping)).toEqual([1]);
});

test("schedule 67: an invocation commits, asks its model once more and dies; that call is debited too", async () => {
  const on = chainedStage({ beatsPerInvocation: 2 });
  // What an unsafe call came to is committed before its model hears of it, by the same invocation.
  const agent = actor({ effect: "unsafe" });
  const once = callsThenOver(1);
  const { run } = await begin(on.world, agent, {});
  await die(on, actor({ effect: "unsafe", reply: (asked) => (asked.calls.length === 0 ? once(asked) : never()) }));
  expect(rowOf(on, run)).toMatchObject({ phase: "AwaitingLLM" });
  await playOut(on, agent);
  expect([rowOf(on, run).status, await lostIn(on.world, run)]).toEqual(["completed", [1]]);
});

test("schedule 73: a process dies while it asks for a summary, or right after it while it asks on; each call is counted once", async () => {
  const on = chainedStage();
  const { agent, counts } = narrow({ pages: 2 });
  const { run } = await begin(on.world, agent, {});
  for (let beat = 0; beat < 2; beat += 1) await step(on, agent);
  const silent = narrow({ pages: 2, summary: never });
  await die(on, silent.agent);
  expect([rowOf(on, run).phase, silent.counts.summaries]).toEqual(["Compacting", 1]);
  // The next one gets its summary, asks on in the same breath, and dies there.
  const stuck = narrow({ pages: 2, reply: never });
  await die(on, stuck.agent);
  expect([rowOf(on, run).phase, stuck.counts.summaries]).toEqual(["AwaitingLLM", 1]);
  await playOut(on, agent);
  expect([rowOf(on, run).status, counts.summaries]).toEqual(["completed", 0]);
  expect(await lostIn(on.world, run)).toEqual([1, 1]);
  const debits = (await timeline(on.world, { run, after: 0 })) ?? [];
  const kept = debits.flatMap((event) =>
    event.kind === "BudgetDebited" && event.debit.tokensIn === 70 ? [event] : [],
  );
  expect(kept).toHaveLength(1);
});
