/** Redrives: the one way out of an end, taken by one operator, recorded, and past whatever still believes in the end. */
import { expect, test } from "vitest";
import type { World } from "../../src/ports/world.ts";
import { executionName } from "../../src/protocol/ids.ts";
import { archiveKey } from "../../src/history/object-keys.ts";
import { timeline } from "../../src/operations/views.ts";
import { redrive } from "../../src/operations/redrive.ts";
import { type CrashLoopRun, createCrashLoopRun } from "../support/runs/crash-loop-run.ts";
import {
  withClockAhead,
  beforeCall,
  dieInTool,
  crashAfterCall,
  freezeBeforeCall,
  sweep,
} from "../support/harness/chain-steps.ts";
import { flushPromises, MS } from "../support/harness/harness.ts";

const ADA = { by: "ada", why: "more memory" } as const;
const BOB = { by: "bob", why: "the night shift" } as const;

const redrivesIn = async ({ harness, run }: CrashLoopRun): Promise<readonly string[]> =>
  ((await timeline(harness.world, { run, after: 0 })) ?? []).flatMap((event) =>
    event.kind === "RunRedriven" ? [`${event.by}: ${event.why}`] : [],
  );

/** It fails once more in the same way. */
async function crashAgain(it: CrashLoopRun): Promise<void> {
  await dieInTool(it.harness, it.agent);
  await dieInTool(it.harness, it.agent);
  await it.harness.runForTime(it.agent, MS.minute);
  expect(it.row()).toMatchObject({ status: "failed" });
}

test("schedule 87: two operators redrive a run at once; one succeeds, and the other gets that as the response", async () => {
  const it = await createCrashLoopRun();
  const { run, harness } = it;
  // Bob has judged the run; before he writes, Ada redrives it.
  const slow = beforeCall(harness.world, "redrive", () => redrive(harness.world, { run, ...ADA }));
  expect(await redrive(slow, { run, ...BOB })).toMatchObject({ kind: "Late", row: { redrive: { by: "ada" } } });
  expect(it.row()).toMatchObject({ chain: 2, status: "running" });
  await harness.runForTime(it.agent, MS.hour);
  expect({ status: it.row().status, called: it.called, redrives: await redrivesIn(it) }).toEqual({
    status: "completed",
    called: [it.key],
    redrives: ["ada: more memory"],
  });
});

test("schedule 88: a sender dies between the row and the start; the sweeper starts the run, and the redrive has its operator", async () => {
  const it = await createCrashLoopRun();
  const { harness, run } = it;
  const late = redrive(crashAfterCall(harness.world, "redrive"), { run, ...ADA });
  late.catch(() => undefined);
  await flushPromises();
  const { born, chain, epoch } = it.row();
  expect(it.row()).toMatchObject({ status: "running", redrive: { by: "ada" }, owner: null });
  expect(harness.world.chain.executions.has(executionName(run, born, chain))).toBe(false);
  harness.clock.moveTo(harness.clock.now() + 2 * MS.minute);
  await harness.advanceUntilSettled(sweep(harness.world));
  expect(harness.world.chain.executions.get(executionName(run, born, chain))?.payload.epoch).toBe(epoch);
  await harness.runForTime(it.agent, MS.hour);
  expect({ status: it.row().status, called: it.called, redrives: await redrivesIn(it) }).toEqual({
    status: "completed",
    called: [it.key],
    redrives: ["ada: more memory"],
  });
});

test("schedule 89: a process freezes before it notifies an end; the run is redriven and fails again; the late notification is refused", async () => {
  const it = await createCrashLoopRun({}, { hotMs: null, archive: "warm" });
  const { harness, run } = it;
  expect(it.row()).toMatchObject({ endNotified: true });
  await redrive(harness.world, { run, ...ADA });
  // Whoever ends it is frozen before the end is told; its archive is put by then.
  await dieInTool(harness, it.agent);
  await dieInTool(harness, it.agent);
  const frozen = freezeBeforeCall(harness.world, "recordEndNotified");
  await failIn(it, frozen.world);
  expect(it.row()).toMatchObject({ status: "failed", endNotified: false });
  await redrive(harness.world, { run, ...BOB });
  await dieInTool(harness, it.agent);
  await dieInTool(harness, it.agent);
  // And whoever ends it this time dies before it tells.
  await failIn(it, freezeBeforeCall(harness.world, "recordEndNotified").world);
  frozen.thaw();
  await flushPromises();
  expect(it.row()).toMatchObject({ status: "failed", endNotified: false, expiresAtSec: null });
  await harness.advanceUntilSettled(sweep(harness.world));
  expect(it.row()).toMatchObject({ endNotified: true });
  const archives = [...harness.world.store.objects.keys()].filter((key) => key.startsWith("archive/"));
  expect(archives.toSorted()).toEqual([1, 2, 3].map((end) => archiveKey(it.row(), "warm", end)).toSorted());
});

/** Its last beats are done in that world, in which the end may never be told. */
async function failIn({ harness, agent, row }: CrashLoopRun, world: World): Promise<void> {
  const failed = async (): Promise<void> => {
    while (row().status !== "failed") await new Promise((resolve) => setImmediate(resolve));
  };
  while (row().status !== "failed") {
    const out = harness.startAttempt();
    const heard = out.perform({ world, agent }).then((result) => out.end(result));
    heard.catch(() => undefined);
    await harness.advanceUntilSettled(Promise.race([heard, failed()]));
  }
}

test("schedule 90: a redrive right before the expiry keeps the run; right after it, the run stays expired", async () => {
  const it = await createCrashLoopRun();
  const { harness, run } = it;
  const over = (it.row().expiresAtSec ?? 0) * 1_000;
  harness.clock.moveTo(over - 1);
  expect(await redrive(harness.world, { run, ...ADA })).toMatchObject({ kind: "redriven" });
  harness.clock.moveTo(over + 1);
  harness.world.store.expire(over + 1);
  expect(it.row()).toMatchObject({ status: "running", expiresAtSec: null });
  await crashAgain(it);
  const again = (it.row().expiresAtSec ?? 0) * 1_000;
  expect(again).toBeGreaterThan(over);
  harness.clock.moveTo(again);
  expect(await redrive(harness.world, { run, ...BOB })).toEqual({ kind: "Expired" });
  // Judged in time by a clock that is behind; the store has removed the row when the write arrives.
  const slow = beforeCall(withClockAhead(harness.world, -1), "redrive", async () => harness.world.store.expire(again));
  expect(await redrive(slow, { run, ...BOB })).toEqual({ kind: "missing" });
  expect(harness.world.store.rows.has(run)).toBe(false);
});
