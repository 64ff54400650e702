/** A model whose provider allows all runs together a number of calls a minute. */
import { expect, test } from "vitest";
import type { ModelRate } from "../../../src/protocol/model-rate.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import { smallContextAgent } from "../../support/agents/small-context-agent.ts";
import { ratedRunner } from "../../support/agents/rated.ts";
import { beginRun, drive, runnerOf } from "../../support/harness/drive.ts";
import {
  type Harness,
  callsThenFinal,
  createChainHarness,
  neverSettles,
  scriptedAgent,
} from "../../support/harness/harness.ts";

/** Runs the beats of all runs until they have ended; returns how many beats that took. */
async function driveAll(harness: Harness, runs: readonly string[], of: Parameters<typeof ratedRunner>[1]) {
  const { world, clock } = harness;
  const perform = runTask(ratedRunner(world, of));
  for (let beats = 0; ; beats += 1) {
    if (runs.every((run) => harness.row(run).status === "completed")) return beats;
    const { name, task, attempt } = harness.startAttempt();
    const invocation = { deadline: clock.now() + world.limits.beatMs, drain: new AbortController().signal };
    const result = await harness.advanceUntilSettled(perform(task, invocation));
    if (result.kind === "exit") throw new Error("its process has to end");
    world.chain.end(name, attempt, result);
  }
}

async function begun(count: number) {
  const harness = createChainHarness();
  const done: string[] = [];
  const agent = scriptedAgent({ reply: callsThenFinal(2), run: ({ key }) => done.push(key) });
  const runs: string[] = [];
  for (let run = 0; run < count; run += 1) runs.push((await beginRun(harness.world, agent, {})).run);
  return { harness, agent, done, runs };
}

test("runs share the limit: each minute has as many calls as it allows, and no run fails or repeats a call", async () => {
  const { harness, agent, done, runs } = await begun(4);
  const asked: number[] = [];
  await driveAll(harness, runs, { agent, rate: { requestsPerMinute: 3 }, asked });
  expect(asked).toHaveLength(12);
  expect(new Set(done).size).toBe(8);
  expect(done).toHaveLength(8);
  for (const at of asked)
    expect(asked.filter((each) => each >= at && each < at + 60_000).length).toBeLessThanOrEqual(3);
  // Nothing but the limit delays them: twelve calls, three a minute and a twelfth of that for bursts.
  expect((asked.at(-1) ?? 0) - (asked[0] ?? 0)).toBeLessThan(5.5 * 60_000);
  for (const run of runs) expect(harness.row(run)).toMatchObject({ deaths: 0 });
});

test("a limit costs two writes for each call, also for one that is decided twice, and no limit costs none", async () => {
  const writesOf = async (agent: Agent, rate: ModelRate | null) => {
    const harness = createChainHarness({ beatsPerInvocation: 10 });
    const { world } = harness;
    let writes = 0;
    const leases: typeof world.leases = {
      ...world.leases,
      take: (lease) => {
        writes += 1;
        return world.leases.take(lease);
      },
    };
    const counted = { ...world, leases };
    const payload = await beginRun(world, agent, {});
    const asked: number[] = [];
    const runner = rate === null ? runnerOf(counted, agent) : ratedRunner(counted, { agent, rate, asked });
    await harness.advanceUntilSettled(drive(runner, payload));
    expect(harness.row(payload.run).status).toBe("completed");
    return { writes, calls: asked.length };
  };
  const rate = { requestsPerMinute: 6_000 };
  const plain = scriptedAgent({ reply: callsThenFinal(2) });
  expect(await writesOf(plain, null)).toEqual({ writes: 0, calls: 0 });
  expect(await writesOf(plain, rate)).toEqual({ writes: 6, calls: 3 });
  // The call after a compaction commits its mark first, and is decided again.
  const { writes, calls } = await writesOf(smallContextAgent({ pages: 3 }).agent, rate);
  expect(writes).toBe(2 * calls);
});

test("a table that does not answer for the limit ends the beat in time, as for every other call", async () => {
  const harness = createChainHarness();
  const { world } = harness;
  const agent = scriptedAgent({});
  const payload = await beginRun(world, agent, {});
  const silent = { ...world, leases: { ...world.leases, take: neverSettles } };
  const asked: number[] = [];
  const runner = ratedRunner(silent, { agent, rate: { requestsPerMinute: 1 }, asked });
  const began = harness.clock.now();
  const { route } = await harness.advanceUntilSettled(drive(runner, payload));
  expect(route).toBe("wait");
  expect(harness.clock.now() - began).toBeLessThan(world.limits.beatMs);
  expect(asked).toEqual([]);
});

test("of 150 calls that wait for one limit at the same time, each writes a few times only", async () => {
  const CALLS = 150;
  const harness = createChainHarness();
  const { world, clock } = harness;
  const agent = scriptedAgent({});
  let writes = 0;
  const leases: typeof world.leases = {
    ...world.leases,
    // A write of DynamoDB takes some milliseconds, in which others ask.
    take: async (lease) => {
      writes += 1;
      await new Promise<void>((resolve) => void clock.after(6, resolve));
      return world.leases.take({ ...lease, now: clock.now() });
    },
  };
  const asked: number[] = [];
  const runner = ratedRunner({ ...world, leases }, { agent, rate: { requestsPerMinute: 60_000 }, asked });
  const payloads = [];
  for (let run = 0; run < CALLS; run += 1) payloads.push(await beginRun(world, agent, {}));
  for (const payload of payloads) void drive(runner, payload);
  for (let turn = 0; asked.length < CALLS && turn < 100_000; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const next = clock.next();
    if (turn % 5 === 4 && next !== null) clock.moveTo(next);
  }
  expect(asked.length).toBeGreaterThan(100);
  expect(writes / asked.length).toBeLessThan(12);
});
