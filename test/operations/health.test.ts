/** What an operator sees of the health of a store. */
import { expect, test } from "vitest";
import { countedBy, reserveSpend } from "../../src/features/spend-caps/counters.ts";
import { addSpendToday } from "../../src/features/spend-caps/today.ts";
import { healthOf } from "../../src/operations/health.ts";
import { performOperation } from "../../src/operations/perform.ts";
import { OPERATIONS } from "../../src/operations/table.ts";
import { beginRun } from "../support/harness/drive.ts";
import { createHarness, scriptedAgent } from "../support/harness/harness.ts";

const contextOf = ({ world }: Pick<ReturnType<typeof createHarness>, "world">) => ({
  ...{ world, by: "ada", tenant: "local", agentOf: async () => null },
});

test("counts the live runs of the caller's tenant by status, and for the operator of the machine those of all", async () => {
  const harness = createHarness();
  await beginRun(harness.world, scriptedAgent({}), {});
  const context = contextOf(harness);
  expect(await healthOf(context)).toEqual({
    ...{ kind: "shown", examined: null, live: { queued: 1 }, isMore: false, spend: null, tenant: null },
    ...{ workers: null, sweeper: { sweeps: null, allAt: null, orphansAt: null } },
  });
  expect((await healthOf({ ...context, tenant: "acme" })).live).toEqual({});
  expect((await healthOf({ ...context, tenant: "acme", isOperator: true })).live).toEqual({ queued: 1 });
});

test("shows the spend of today against the cap of all runs, and what the tenant used of its own", async () => {
  const { world } = createHarness();
  const capped = { ...world, limits: { ...world.limits, spendMicroUsdPerDay: 50e6 } };
  await addSpendToday(capped, { microUsd: 3e6, until: world.clock.now() + 1_000 });
  const counted = countedBy("local", { day: { microUsd: 20e6 } });
  await reserveSpend(capped, { ...counted, id: "local-1", microUsd: 2e6 });
  const health = await healthOf({ ...contextOf({ world: capped as typeof world }), counted });
  expect(health.spend).toEqual({ todayUsd: 3, capUsd: 50 });
  expect(health.tenant).toMatchObject({
    name: "local",
    limits: { day: { microUsd: 20e6 } },
    day: { runs: 1, microUsd: 2e6 },
  });
});

test("has the checks of the doctor where the server can look", async () => {
  const checks = [{ id: "store", says: "it opens", status: "ok", why: "seen", mend: null }] as const;
  const context = { ...contextOf(createHarness()), examine: async () => ({ cairn: "1", world: "local", checks }) };
  expect(await performOperation(OPERATIONS.health, context, {})).toMatchObject({
    examined: { cairn: "1", world: "local", checks },
  });
});

const LOAD = {
  workers: {
    processes: [{ pid: 7, agent: "clerk", tasks: 2, waiting: 1, free: 15 }],
    ...{ processesMax: 5, free: 31 },
  },
  sweeps: { lastAt: 1, judged: 3, nextAt: 2 },
};

test("shows what workers have and when sweeps were, of the supervisor in its process and of the store", async () => {
  const harness = createHarness();
  const context = contextOf(harness);
  const store = (name: string, cursor: string) =>
    harness.world.leases.take({ name, owner: "sweeper", until: 0, cursor, now: 0 });
  await store("sweep of all", "11");
  await store("orphans: last pass", "22");
  const stored = { allAt: 11, orphansAt: 22 };
  expect(await healthOf({ ...context, load: () => LOAD })).toMatchObject({
    ...{ workers: LOAD.workers, sweeper: { sweeps: LOAD.sweeps, ...stored } },
  });
  expect(await healthOf({ ...context, load: () => null })).toMatchObject({
    ...{ workers: null, sweeper: { sweeps: null, ...stored } },
  });
});

test("another tenant sees neither what workers have, which names agents of all, nor how many runs a sweep judged", async () => {
  const asked = { ...contextOf(createHarness()), load: () => LOAD, tenant: "acme" };
  expect(await healthOf(asked)).toMatchObject({ workers: null, sweeper: null });
  expect(await healthOf({ ...asked, isOperator: true })).toMatchObject({ workers: LOAD.workers });
});

test("another tenant sees neither the checks, which name runs of all, nor what all runs spent", async () => {
  const { world } = createHarness();
  const capped = { ...world, limits: { ...world.limits, spendMicroUsdPerDay: 50e6 } };
  await addSpendToday(capped, { microUsd: 3e6, until: world.clock.now() + 1_000 });
  const checks = [{ id: "rows", says: "each row is read", status: "fail", why: "local-1 is not", mend: null }] as const;
  const examine = async () => ({ cairn: "1", world: "local", checks });
  const asked = { ...contextOf({ world: capped as typeof world }), examine };
  expect(await healthOf({ ...asked, tenant: "acme" })).toMatchObject({ examined: null, spend: null });
  expect(await healthOf({ ...asked, tenant: "acme", isOperator: true })).toMatchObject({
    ...{ examined: { checks }, spend: { todayUsd: 3 } },
  });
});

test("counts no more than a thousand live runs, since each costs a read on AWS", async () => {
  const harness = createHarness();
  const { run } = await beginRun(harness.world, scriptedAgent({}), {});
  const row = harness.row(run);
  let read = 0;
  const alive: typeof harness.world.table.alive = async ({ limit }) => {
    read += limit;
    return { rows: Array.from({ length: limit }, () => row), damaged: [], behind: [], next: "more" };
  };
  const world = { ...harness.world, table: { ...harness.world.table, alive } } as typeof harness.world;
  expect(await healthOf(contextOf({ world }))).toMatchObject({ live: { queued: 1_000 }, isMore: true });
  expect(read).toBe(1_000);
});
