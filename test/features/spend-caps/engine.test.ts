/** The spend cap of a day: runs under way wait, new ones are refused, and the next day or a higher cap lets them go on. */
import { expect, test } from "vitest";
import { addSpendToday, spentToday } from "../../../src/features/spend-caps/today.ts";
import { performOperation } from "../../../src/operations/perform.ts";
import { SCOPES } from "../../../src/operations/operation.ts";
import { OPERATIONS } from "../../../src/operations/table.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { StoredRecord } from "../../../src/ports/records.ts";
import type { World } from "../../../src/ports/world.ts";
import { cappedHarness, pricedAgent } from "../../support/agents/priced.ts";
import { startKeyedRun } from "../../support/harness/chain-steps.ts";
import { type Harness, createChainHarness } from "../../support/harness/harness.ts";

const DAY_MS = 86_400_000;

const start = (world: World, key: string) => {
  const context = { world, by: "ann", tenant: "local", scopes: SCOPES, agentOf: async () => pricedAgent(1) };
  return performOperation(OPERATIONS.start, context, { agent: "actor", input: {}, files: [], key });
};

/** An hour after midnight, so that the day is long. */
function earlyInDay(harness: Harness): void {
  harness.clock.moveTo((Math.floor(harness.clock.now() / DAY_MS) + 1) * DAY_MS + 3_600_000);
}

/** Drives the run until it waits for its model. */
async function runUntilHeld(harness: Harness, agent: Agent, run: string): Promise<void> {
  for (let attempts = 0; attempts < 20; attempts += 1) {
    await harness.runAttempt(agent);
    if (harness.row(run).wakeAt !== null) return;
  }
  throw new Error("the run waits for nothing");
}

test("runs under way wait once the cap is reached, and go on the next day", async () => {
  const harness = cappedHarness(3);
  earlyInDay(harness);
  const agent = pricedAgent(4);
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  for (let looks = 0; looks < 3; looks += 1) {
    await runUntilHeld(harness, agent, run);
    expect(harness.row(run)).toMatchObject({ status: "running", spent: { microUsd: 30_000 }, deaths: 0 });
    const { wakeAt } = harness.row(run);
    expect((wakeAt ?? 0) - harness.clock.now()).toBeLessThanOrEqual(16 * 60_000);
  }
  expect(await spentToday(harness.world)).toBe(30_000);
  harness.clock.moveTo(harness.clock.now() + DAY_MS);
  await harness.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", spent: { microUsd: 50_000 } });
  expect(await spentToday(harness.world)).toBe(20_000);
});

test("a run goes on the same day when the cap is raised", async () => {
  const harness = cappedHarness(1);
  earlyInDay(harness);
  const agent = pricedAgent(1);
  const { run } = await startKeyedRun(harness.world, { agent, key: "a" });
  await runUntilHeld(harness, agent, run);
  expect(harness.row(run)).toMatchObject({ spent: { microUsd: 10_000 } });
  const world = { ...harness.world, limits: { ...harness.world.limits, spendMicroUsdPerDay: 1_000_000 } };
  await { ...harness, world }.runUntilIdle(agent);
  expect(harness.row(run)).toMatchObject({ status: "completed", spent: { microUsd: 20_000 } });
});

test("a start is refused by name while the cap is reached, and a retry of an earlier start gets its run", async () => {
  const harness = cappedHarness(2);
  expect(await start(harness.world, "early")).toMatchObject({ kind: "started" });
  await harness.runUntilIdle(pricedAgent(1), 60);
  expect(await spentToday(harness.world)).toBe(20_000);
  expect(await start(harness.world, "late")).toMatchObject({
    ...{ kind: "spendCapReached", spentUsd: 0.02, capUsd: 0.02 },
    resetsAt: Math.ceil(harness.clock.now() / 86_400_000) * 86_400_000,
  });
  expect(harness.world.store.rows.size).toBe(1);
  expect(await start(harness.world, "early")).toMatchObject({ kind: "exists" });
  harness.clock.moveTo(harness.clock.now() + 86_400_000);
  expect(await start(harness.world, "late")).toMatchObject({ kind: "started" });
});

test("without a cap nothing is counted", async () => {
  const harness = createChainHarness();
  await startKeyedRun(harness.world, { agent: pricedAgent(1), key: "a" });
  await harness.runUntilIdle(pricedAgent(1));
  const by = { about: "*account" };
  const { records } = await harness.world.records.list({
    kind: "rate",
    by,
    after: null,
    limit: 9,
    now: harness.clock.now(),
  });
  expect(records).toEqual([]);
});

test("a sum that is damaged is not taken for nothing", async () => {
  const harness = cappedHarness(3);
  await addSpendToday(harness.world, { microUsd: 1, until: harness.clock.now() });
  const { records } = harness.world.store;
  for (const [key, { body: _, ...rest }] of records) records.set(key, rest as StoredRecord);
  await expect(spentToday(harness.world)).rejects.toThrow(/^the spend .* cannot be read$/);
});
