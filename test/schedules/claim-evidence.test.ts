/** Runs that no invocation has claimed for long: a sweep hands them over without a look at their execution. */
import { expect, test } from "vitest";
import { UNCLAIMED_MS } from "../../src/protocol/claim-evidence.ts";
import type { World } from "../../src/ports/world.ts";
import { sendRequest } from "../../src/engine/loop/request.ts";
import { beginRun } from "../support/harness/drive.ts";
import { wrapTableCall } from "../support/harness/chain-steps.ts";
import { scriptedAgent, createSupervisedHarness } from "../support/harness/harness.ts";

const MINUTE_MS = 60_000;
const agent = scriptedAgent({});

/**
 * Step Functions: a start under a used name succeeds if it is the same start and its execution still goes on. For any
 * other one, the client asks DescribeExecution.
 */
function withDescriptions<W extends World>(world: W): { readonly world: W; readonly described: () => number } {
  const started = new Map<string, string>();
  let described = 0;
  const start: World["chain"]["start"] = async (name, payload) => {
    const input = JSON.stringify(payload);
    const isSame = started.get(name) === input;
    if (!started.has(name)) started.set(name, input);
    const outcome = await world.chain.start(name, payload);
    if (outcome.kind === "exists" && isSame && outcome.running) return { kind: "started" };
    if (outcome.kind === "exists") described += 1;
    return outcome;
  };
  return { world: { ...world, chain: { ...world.chain, start } }, described: () => described };
}

/** A run between two beats: its first one released it, and Lambda turns the second one away. */
async function turnedAway() {
  const harness = createSupervisedHarness();
  const { world, described } = withDescriptions(harness.world);
  const { run } = await beginRun(world, agent, {});
  await harness.driveUntil({ agent, run, until: ({ epoch, owner }) => epoch === 1 && owner === null });
  return { harness, run, world, described };
}

test("schedule 165: a run without a claim for hours is claimed between the read of a sweep and its hand-over", async () => {
  const { harness, run } = await turnedAway();
  harness.passTime(UNCLAIMED_MS + MINUTE_MS);
  let isClaimed = false;
  const overtaken = wrapTableCall(harness.world, "handOver", (call) => async (asked) => {
    isClaimed = true;
    await sendRequest(harness.world, { run, want: "pause" });
    await harness.driveUntil({ agent, run, until: ({ park }) => park !== null });
    return call(asked);
  });
  const { chain } = harness.row(run);
  await harness.sweep(overtaken);
  expect({ isClaimed, row: harness.row(run) }).toMatchObject({ isClaimed: true, row: { chain, status: "paused" } });
  await sendRequest(harness.world, { run, want: "resume" });
  await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
  expect(harness.row(run)).toMatchObject({ status: "completed", chain });
});

test("schedule 166: Lambda turns a run away for a day; it is handed over once in two hours, and hardly described", async () => {
  const { harness, run, world, described } = await turnedAway();
  const since = harness.clock.now();
  const descriptions: number[] = [];
  for (let minutes = 5; minutes <= 24 * 60; minutes += 5) {
    harness.passTime(5 * MINUTE_MS);
    await harness.sweep(world);
    if (minutes % 120 === 0) descriptions.push(described());
  }
  expect(harness.clock.now() - since).toBeGreaterThanOrEqual(24 * 60 * MINUTE_MS);
  expect(harness.row(run)).toMatchObject({ chain: 1 + 12, deaths: 0, takeovers: 0, status: "running" });
  // In the first two hours the execution may only pause. Afterwards each sweep repeats the start of the last one.
  expect(descriptions[0]).toBe(23);
  expect(descriptions.at(-1)).toBe(descriptions[0]);
  await harness.driveUntil({ agent, run, until: ({ endNotified }) => endNotified });
  expect(harness.row(run)).toMatchObject({ status: "completed", chain: 1 + 12 });
});
