/** A tool changes a function of the language, with which no record could be written any more. */
import { afterEach, expect, test } from "vitest";
import { SegmentCache, load } from "../../src/history/load.ts";
import { intactWorld } from "../../src/sdk/intact-world.ts";
import { watchIntrinsics } from "../../src/sdk/watched-intrinsics.ts";
import { performMachineTask, runMachineToEnd, startMachineRun } from "../support/aws/state-machine-runs.ts";
import { withTakeovers } from "../support/harness/chain-steps.ts";
import { assertSafety } from "../support/gate/safety.ts";
import { type Harness, createHarness, scriptedAgent } from "../support/harness/harness.ts";

const own = Reflect.get(TextDecoder.prototype, "decode");
const restore = (): void => {
  TextDecoder.prototype.decode = own;
};
afterEach(restore);

/** It does what the function of the language does, and is another function. */
const breakDecode = (): void => {
  TextDecoder.prototype.decode = function decode(this: TextDecoder, ...given) {
    return Reflect.apply(own, this, given);
  };
};

/** A new process, in which everything is as it was. */
function inNewProcess(harness: Harness) {
  restore();
  return intactWorld(harness.world, watchIntrinsics());
}

function agentThatBreaks(times: number) {
  let left = times;
  return scriptedAgent({
    effect: "keyed",
    run: async () => {
      left -= 1;
      if (left >= 0) breakDecode();
      await Promise.resolve();
      return "acted";
    },
  });
}

test("schedule 227: a tool changes a function of the language: nothing is written, and its run goes on without a death", async () => {
  const harness = createHarness();
  const agent = withTakeovers(agentThatBreaks(1), 0);
  const { run, machine } = await startMachineRun(harness, agent);
  const called = await performMachineTask(machine, { world: inNewProcess(harness), agent });
  const broken = harness.row(run);
  await runMachineToEnd(harness, called, { world: inNewProcess(harness), agent });
  const row = harness.row(run);
  assertSafety("the broken process wrote nothing, and did not die", () => {
    expect(broken).toMatchObject({ epoch: 1, status: "running" });
    expect(row).toMatchObject({ status: "completed", deaths: 0 });
  });
  const { state } = await load(harness.world, row, new SegmentCache());
  expect(state.changedIntrinsics).toEqual([{ intrinsic: "TextDecoder.prototype.decode", tool: "act", epoch: 1 }]);
});

test("schedule 228: a tool changes it again in the next process: its run is blocked", async () => {
  const harness = createHarness();
  const agent = agentThatBreaks(2);
  const { run, machine } = await startMachineRun(harness, agent);
  let at = machine;
  for (let task = 0; task < 3; task += 1) {
    harness.clock.moveTo(harness.clock.now() + at.waited * 1_000);
    at = await performMachineTask(at, { world: inNewProcess(harness), agent });
  }
  const row = harness.row(run);
  expect(row).toMatchObject({ status: "blocked", phase: "AwaitingAgent", deaths: 0 });
  const { state } = await load(harness.world, row, new SegmentCache());
  expect(state.upgrades?.lack).toMatchObject({
    kind: "operator",
    mends: "code",
    failure: { code: "IntrinsicChanged" },
  });
  // A new version goes on with it, and its first change counts as the first one.
  const mended = { ...agentThatBreaks(1), version: "2" };
  for (let task = 0; task < 8 && harness.row(run).status !== "completed"; task += 1) {
    harness.clock.moveTo(harness.clock.now() + at.waited * 1_000);
    at = await performMachineTask(at, { world: inNewProcess(harness), agent: mended });
  }
  expect(harness.row(run)).toMatchObject({ status: "completed", deaths: 0 });
});
