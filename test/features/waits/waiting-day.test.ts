/**
 * A run that waits a day for a person, counted: between its park and the decision, or the end of its time, nobody is
 * invoked for it and nothing of it is written, however often the sweeper looks. On AWS the same chain parks by task token:
 * `test/infra/asl.test.ts` shows that both send the same tasks, `test/localstack/waiting.test.ts` counts the states.
 */
import { expect, test } from "vitest";
import type { Json } from "../../../src/core/json.ts";
import type { Execution } from "../../../src/protocol/execution.ts";
import { approvalAgent, toolResultsOf, decideGate } from "../../support/agents/approval-agent.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";
import { startKeyedRun, sweep } from "../../support/harness/chain-steps.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SWEEP_MS = 5 * MINUTE_MS;

/** Waits at its gate; the tasks that this took, and what was run. */
async function parked() {
  const harness = createChainHarness();
  const ran: { readonly args: Json; readonly key: string }[] = [];
  const agent = approvalAgent({ ran });
  const { run } = await startKeyedRun(harness.world, { agent, key: "k" });
  const tasks = [(await harness.runAttempt(agent)).kind, (await harness.runAttempt(agent)).kind];
  expect(executionIn(harness)).toMatchObject({ state: "Park", stage: "waiting", attempt: 2 });
  return { harness, agent, run, ran, tasks };
}

const executionIn = ({ world: { chain } }: Harness): Execution => [...chain.executions.values()][0] as Execution;

/** Sweeps as a deployment does; how often, and how many attempts would have left meanwhile. */
async function sweepFor(harness: Harness, ms: number) {
  const until = harness.clock.now() + ms;
  let [sweeps, attempts] = [0, 0];
  while (harness.clock.now() + SWEEP_MS < until) {
    harness.clock.moveTo(harness.clock.now() + SWEEP_MS);
    await harness.advanceUntilSettled(sweep(harness.world));
    sweeps += 1;
    attempts += harness.world.chain.ready(harness.clock.now()).length;
  }
  return { sweeps, attempts };
}

test("a day at a gate is one beat and one park, and then only sweeps", async () => {
  const { harness, agent, run, ran, tasks } = await parked();
  expect(tasks).toEqual(["beat", "park"]);
  const before = harness.row(run);
  expect(before.wakeAt).toBe(harness.clock.now() + DAY_MS);
  expect(await sweepFor(harness, DAY_MS)).toEqual({ sweeps: 287, attempts: 0 });
  expect(harness.row(run)).toEqual(before);
  expect(executionIn(harness)).toMatchObject({ stage: "waiting", attempt: 2 });
  expect(harness.wakes).toEqual([]);
  expect(ran).toEqual([]);
  // Nobody decided: its time is up by itself, and the call is denied.
  expect(harness.world.chain.next()).toBe(before.wakeAt);
  const out = harness.startAttempt();
  expect({ kind: out.task.kind, now: harness.clock.now() }).toEqual({ kind: "beat", now: before.wakeAt });
  out.end(await harness.advanceUntilSettled(out.perform({ world: harness.world, agent })));
  expect(ran).toEqual([]);
  expect(await toolResultsOf(harness, run)).toMatchObject([
    { outcome: "failed", value: { json: expect.stringContaining("expiry") } },
  ]);
});

test("a decision wakes the run itself: its next beat may start in the same millisecond", async () => {
  const { harness, agent, run, ran } = await parked();
  await sweepFor(harness, DAY_MS / 2);
  const at = harness.clock.now();
  expect(harness.world.chain.ready(at)).toEqual([]);
  expect(await decideGate(harness.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
  expect(harness.wakes).toHaveLength(1);
  expect({ now: harness.clock.now(), next: harness.world.chain.next() }).toEqual({ now: at, next: at });
  expect((await harness.runAttempt(agent)).kind).toBe("beat");
  expect(ran).toHaveLength(1);
});
