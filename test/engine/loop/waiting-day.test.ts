/**
 * A run that waits a day for a person, counted: between its park and the decision, or the end of its time, nobody is
 * invoked for it and nothing of it is written, however often the sweeper looks. On AWS the same chain parks by task token:
 * `test/infra/asl.test.ts` shows that both send the same tasks, `test/localstack/waiting.test.ts` counts the states.
 */
import { expect, test } from "vitest";
import type { Json } from "../../../src/core/json.ts";
import type { Execution } from "../../../src/protocol/execution.ts";
import { asking, resultsOf, say } from "../../support/asking.ts";
import { type Stage, chainedStage, passing, rowOf } from "../../support/stage.ts";
import { hear, leave, perform, start, step, sweep } from "../../support/steps.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SWEEP_MS = 5 * MINUTE_MS;

/** Waits at its gate; the tasks that this took, and what was run. */
async function parked() {
  const on = chainedStage();
  const ran: { readonly args: Json; readonly key: string }[] = [];
  const agent = asking({ ran });
  const { run } = await start(on.world, { agent, key: "k" });
  const tasks = [(await step(on, agent)).kind, (await step(on, agent)).kind];
  expect(executionIn(on)).toMatchObject({ state: "Park", stage: "waiting", attempt: 2 });
  return { on, agent, run, ran, tasks };
}

const executionIn = ({ world: { chain } }: Stage): Execution => [...chain.executions.values()][0] as Execution;

/** Sweeps as a deployment does; how often, and how many attempts would have left meanwhile. */
async function sweepFor(on: Stage, ms: number) {
  const until = on.clock.now() + ms;
  let [sweeps, attempts] = [0, 0];
  while (on.clock.now() + SWEEP_MS < until) {
    on.clock.moveTo(on.clock.now() + SWEEP_MS);
    await passing(on, sweep(on.world));
    sweeps += 1;
    attempts += on.world.chain.ready(on.clock.now()).length;
  }
  return { sweeps, attempts };
}

test("a day at a gate is one beat, one park, and then nothing but the sweeper's looks", async () => {
  const { on, agent, run, ran, tasks } = await parked();
  expect(tasks).toEqual(["beat", "park"]);
  const before = rowOf(on, run);
  expect(before.wakeAt).toBe(on.clock.now() + DAY_MS);
  expect(await sweepFor(on, DAY_MS)).toEqual({ sweeps: 287, attempts: 0 });
  expect(rowOf(on, run)).toEqual(before);
  expect(executionIn(on)).toMatchObject({ stage: "waiting", attempt: 2 });
  expect(on.wakes).toEqual([]);
  expect(ran).toEqual([]);
  // Nobody decided: its time is up by itself, and the call is denied.
  expect(on.world.chain.next()).toBe(before.wakeAt);
  const out = leave(on);
  expect([out.task.kind, on.clock.now()]).toEqual(["beat", before.wakeAt]);
  hear(on, out, await passing(on, perform(out.task, { world: on.world, agent })));
  expect(ran).toEqual([]);
  expect(await resultsOf(on, run)).toMatchObject([
    { outcome: "failed", value: { json: expect.stringContaining("expiry") } },
  ]);
});

test("a decision wakes it itself: its next beat may leave in the same millisecond, whoever looks when", async () => {
  const { on, agent, run, ran } = await parked();
  await sweepFor(on, DAY_MS / 2);
  const at = on.clock.now();
  expect(on.world.chain.ready(at)).toEqual([]);
  expect(await say(on.world, { run, as: "approve" })).toMatchObject({ kind: "accepted" });
  expect(on.wakes).toHaveLength(1);
  expect([on.clock.now(), on.world.chain.next()]).toEqual([at, at]);
  expect((await step(on, agent)).kind).toBe("beat");
  expect(ran).toHaveLength(1);
});
