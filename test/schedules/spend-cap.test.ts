/** The sum of a day, which many commits raise at once, and whose processes die. */
import { expect, test } from "vitest";
import type { TaskResult } from "../../src/protocol/chain.ts";
import { addSpendToday, spentToday } from "../../src/features/spend-caps/today.ts";
import type { Random } from "../../src/ports/world.ts";
import { cappedHarness, pricedAgent } from "../support/agents/priced.ts";
import { startKeyedRun } from "../support/harness/chain-steps.ts";
import { crashAtCall, forEachCrashPoint } from "../support/faults/crash-at-call.ts";

test("schedule 192: commits read one shard at once, and each of them counts", async () => {
  const harness = cappedHarness(100);
  // One shard for all of them.
  const random: Random = { hex: () => "0".repeat(64) };
  const world = { ...harness.world, random };
  const until = harness.clock.now() + 60_000;
  await addSpendToday(world, { microUsd: 45, until });
  const all = Promise.all(Array.from({ length: 10 }, (_, n) => addSpendToday(world, { microUsd: n + 1, until })));
  await harness.advanceUntilSettled(all);
  expect(await spentToday(world)).toBe(100);
});

test("schedule 193: a process dies at any call around the commit of a debit, and the sum is never less than what is committed", async () => {
  const agent = pricedAgent(1);
  let more = 0;
  await forEachCrashPoint(async (crash) => {
    const harness = cappedHarness(100);
    const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
    const out = harness.startAttempt();
    const dying = crashAtCall(harness.world, crash);
    let result: TaskResult | null = null;
    const survived = await dying.survives(async (world) => {
      result = await out.perform({ world, agent });
    });
    expect(await spentToday(harness.world), JSON.stringify(crash)).toBeGreaterThanOrEqual(
      harness.row(run).spent.microUsd,
    );
    if ((await spentToday(harness.world)) > harness.row(run).spent.microUsd) more += 1;
    out.end(result);
    await harness.runUntilIdle(agent);
    expect(harness.row(run).status).toBe("completed");
    expect(await spentToday(harness.world)).toBeGreaterThanOrEqual(harness.row(run).spent.microUsd);
    return survived;
  });
  expect(more).toBeGreaterThan(0);
});
