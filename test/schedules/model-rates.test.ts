/** A rate limit that all runs share. */
import { expect, test } from "vitest";
import type { MutexLeases } from "../../src/ports/mutex-leases.ts";
import { ratedRunner } from "../support/agents/rated.ts";
import { attemptBeat, beginRun } from "../support/harness/drive.ts";
import { beatReply, createHarness, scriptedAgent } from "../support/harness/harness.ts";

test("schedule 149: a process freezes between the read of a rate limit and its write, and another process uses the limit meanwhile", async () => {
  const harness = createHarness();
  const { world, clock } = harness;
  const agent = scriptedAgent({});
  const of = { agent, rate: { requestsPerMinute: 1 }, asked: [] as number[] };
  const [frozen, thaw] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  const take: MutexLeases["take"] = async (lease) => {
    const outcome = await world.leases.take(lease);
    if (isFirst) {
      isFirst = false;
      frozen.resolve();
      await thaw.promise;
    }
    return outcome;
  };
  const late = ratedRunner({ ...world, leases: { ...world.leases, take } }, of);
  const late1 = beatReply(attemptBeat(late, await beginRun(world, agent, {})));
  await frozen.promise;
  // The lease of the frozen process expires.
  clock.moveTo(clock.now() + 1_001);
  const other = attemptBeat(ratedRunner(world, of), await beginRun(world, agent, {}));
  expect(await harness.advanceUntilSettled(beatReply(other))).toMatchObject({ route: "beat" });
  thaw.resolve();
  expect(await harness.advanceUntilSettled(late1)).toMatchObject({ route: "wait" });
  expect(of.asked).toHaveLength(1);
});
