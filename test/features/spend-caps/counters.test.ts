import { expect, test } from "vitest";
import { usedSpend } from "../../../src/features/spend-caps/counters.ts";
import type { Row } from "../../../src/protocol/row.ts";
import type { SpendCounter } from "../../../src/protocol/spend-counter.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import { advanceUntilSettled, createLocalHarness, drive, runnerOf } from "../../support/harness/drive.ts";
import { createHarness } from "../../support/harness/harness.ts";
import { CENT, budgetedAgent, startCounted } from "../../support/runs/counted-starts.ts";

const used = { subject: "tenant local" };

test("as many of 20 starts at once are counted as there is room for", async () => {
  const harness = createLocalHarness();
  const { world } = harness;
  const starts = Array.from({ length: 20 }, (_, at) => startCounted(world, { day: { runs: 7 } }, { key: `k${at}` }));
  const kinds = (await advanceUntilSettled(harness.clock, Promise.all(starts))).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "started")).toHaveLength(7);
  expect(kinds.filter((kind) => kind === "limitReached")).toHaveLength(13);
  expect((await usedSpend(world, used)).day.runs).toBe(7);
});

test("a start that dies at any call and is sent again counts once", async () => {
  const crashes = await forEachCrashPoint(async (crash) => {
    const { world } = createHarness();
    const dying = crashAtCall(world, crash);
    const survived = await dying.survives((mine) => startCounted(mine, { day: { runs: 5 } }, { key: "once" }));
    expect(["started", "exists"]).toContain((await startCounted(world, { day: { runs: 1 } }, { key: "once" })).kind);
    expect((await usedSpend(world, used)).day.runs).toBe(1);
    return survived;
  });
  expect(crashes).toBeGreaterThan(5);
});

test("a money limit refuses an agent without a money budget, and counts nothing", async () => {
  const { world } = createHarness();
  expect((await startCounted(world, { day: { microUsd: CENT } }, { key: "k", microUsd: null })).kind).toBe(
    "budgetMissing",
  );
  expect((await startCounted(world, { day: { runs: 1 } }, { key: "k", microUsd: null })).kind).toBe("started");
});

test("a run that has ended leaves what it did not spend, also where a refused start has to look at many", async () => {
  const { world, clock } = createHarness();
  const limits = { day: { microUsd: 10 * CENT } };
  for (let at = 0; at < 10; at += 1) await startCounted(world, limits, { key: `k${at}` });
  expect((await startCounted(world, limits, { key: "next" })).kind).toBe("limitReached");
  // The run that an accepted start would look at last.
  const [counter] = [...world.store.records.values()].map(({ body }) => body as unknown as SpendCounter);
  const run = Object.keys(counter?.open ?? {}).at(-1) ?? "";
  const { born, chain, epoch, agent } = world.store.rows.get(run) as Row;
  await drive(runnerOf(world, budgetedAgent(CENT)), { run, born, chain, epoch, agent });
  expect(world.store.rows.get(run)?.status).toBe("completed");
  // The look at the last refusal counts for some seconds.
  expect((await startCounted(world, limits, { key: "next" })).kind).toBe("limitReached");
  clock.moveTo(clock.now() + 5_000);
  expect((await startCounted(world, limits, { key: "next" })).kind).toBe("started");
  expect((await usedSpend(world, used)).day).toEqual({ runs: 11, microUsd: 10 * CENT });
});
