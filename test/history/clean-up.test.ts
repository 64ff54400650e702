/** What a run leaves behind goes when its row has gone: once, late, in pieces, and never of another incarnation. */
import { describe, expect, test } from "vitest";
import type { TelemetryRecord } from "../../src/ports/world.ts";
import { cleanUp } from "../../src/history/clean-up.ts";
import { show } from "../../src/operations/views.ts";
import { purge } from "../../src/operations/purge.ts";
import { cleanUpRemovedRuns } from "../support/harness/drive.ts";
import {
  NO_LEFTOVERS,
  endedRun,
  finishRun,
  expireKey,
  loadObjects,
  countLeftovers,
  startRunWithMessage,
  performMaintenance,
} from "../support/runs/leftover-objects.ts";
import { type Harness, createHarness } from "../support/harness/harness.ts";
import { rewriteRow } from "../support/runs/rewrite-row.ts";
import { END_NOTIFICATION } from "../../src/protocol/row-end-notification.ts";
import { PURGE } from "../../src/protocol/row-removal.ts";
import { withCalls } from "../../src/testing/decisions.ts";

const HOUR_MS = 3_600_000;

/** Lets the time of every ended run pass. */
function pastRetention({ clock, world }: Harness): void {
  clock.moveTo(clock.now() + world.limits.retentionMs + 1_000);
}

describe("an expired run", () => {
  test("leaves nothing: row, objects, inbox and used IDs are removed", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    const { objects, messages } = countLeftovers(harness, row);
    expect({ hasManyObjects: objects > 3, messages }).toEqual({ hasManyObjects: true, messages: 1 });
    harness.world.store.expire(harness.clock.now());
    await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
    expect(countLeftovers(harness, row)).toEqual({ rows: 1, objects, messages });
    pastRetention(harness);
    harness.world.store.expire(harness.clock.now());
    expect(countLeftovers(harness, row)).toEqual({ rows: 0, objects, messages });
    await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
    expect(countLeftovers(harness, row)).toEqual(NO_LEFTOVERS);
    expect(harness.world.store.objects.size).toBe(0);
    // Told twice, or long after: nothing is left to do.
    await cleanUp(harness.world, row);
  });

  test("schedule 19: is not affected by an old clean-up after the key started the run again", async () => {
    const harness = createHarness();
    const old = await endedRun(harness, "key");
    expireKey(harness, old.run);
    harness.world.store.expire(harness.clock.now());
    const fresh = await startRunWithMessage(harness, "key");
    expect(fresh.run).toBe(old.run);
    expect(fresh.born).not.toBe(old.born);
    const before = countLeftovers(harness, fresh);
    await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
    expect([countLeftovers(harness, old), countLeftovers(harness, fresh)]).toEqual([NO_LEFTOVERS, before]);
    const done = await loadObjects(harness, await finishRun(harness, fresh));
    await cleanUp(harness.world, old);
    await loadObjects(harness, done);
    expect(await show(harness.world, done.run)).toMatchObject({ status: "completed", result: "over" });
    // The words to the new run were no duplicate of those to the old one.
    expect(countLeftovers(harness, fresh).messages).toBe(1);
  });

  test("schedule 32: whose key is used before its deletion is cleaned up as well", async () => {
    const harness = createHarness();
    const old = await endedRun(harness, "key");
    expireKey(harness, old.run);
    // No expiry by the store has happened: creation finds the expired row in its place.
    const fresh = await startRunWithMessage(harness, "key");
    expect(harness.world.store.removed).toEqual([{ run: old.run, born: old.born }]);
    await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
    expect(countLeftovers(harness, old)).toEqual(NO_LEFTOVERS);
    await loadObjects(harness, await finishRun(harness, fresh));
  });

  test("schedule 41: whose end is not notified neither expires nor is purged", async () => {
    const harness = createHarness();
    const told = await endedRun(harness, "key");
    harness.world.store.rows.set(told.run, { ...told, endNotified: false, expiresAtSec: null });
    harness.world.store.expire(harness.clock.now() + 10_000 * HOUR_MS);
    const of = { run: told.run, born: told.born, now: harness.clock.now() };
    expect(await harness.world.table.decide(of, PURGE)).toMatchObject({ kind: "kept" });
    expect(harness.world.store.removed).toEqual([]);
    await loadObjects(harness, harness.row(told.run));
  });

  test("whose row still exists keeps its objects, and an alarm is raised", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    const before = countLeftovers(harness, row);
    const records: TelemetryRecord[] = [];
    const world = { ...harness.world, telemetry: { record: (record: TelemetryRecord) => void records.push(record) } };
    await cleanUp(world, row);
    // Past its time and not deleted is there as well: the event is early.
    pastRetention(harness);
    await cleanUp(world, row);
    expect(countLeftovers(harness, row)).toEqual(before);
    expect(records.map(({ level, what }) => ({ level, what }))).toEqual([
      { level: "alarm", what: "NotRemoved" },
      { level: "alarm", what: "NotRemoved" },
    ]);
  });
});

describe("purge", () => {
  test("removes an ended run at once, and its removal is announced like any other", async () => {
    const harness = createHarness();
    const [row, other] = [await endedRun(harness, "key"), await endedRun(harness, "another")];
    expect(await purge(harness.world, row.run)).toMatchObject({ kind: "purged", row: { born: row.born } });
    expect(countLeftovers(harness, row)).toEqual(NO_LEFTOVERS);
    expect(harness.world.store.removed).toEqual([{ run: row.run, born: row.born }]);
    await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
    await loadObjects(harness, other);
    expect(await purge(harness.world, row.run)).toEqual({ kind: "missing" });
  });

  test("notifies the end first when that is still due", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    harness.world.store.rows.set(row.run, { ...row, endNotified: false, expiresAtSec: null });
    const told: string[] = [];
    const { table: stored } = harness.world;
    const table = withCalls(stored, {
      recordEndNotified: (of) => stored.decide(of, END_NOTIFICATION).finally(() => told.push("told")),
      purge: (of) => stored.decide(of, PURGE).finally(() => told.push("purged")),
    });
    expect(await purge({ ...harness.world, table }, row.run)).toMatchObject({ kind: "purged" });
    expect(told).toEqual(["told", "purged"]);
  });

  test("refuses a live run, and a run that another version wrote", async () => {
    const harness = createHarness();
    const live = await startRunWithMessage(harness, "live");
    const before = countLeftovers(harness, live);
    expect(await purge(harness.world, live.run)).toMatchObject({ kind: "live", row: { status: "queued" } });
    expect(countLeftovers(harness, live)).toEqual(before);
    const ended = await endedRun(harness, "key");
    harness.world.store.rows.set(ended.run, rewriteRow(ended, { format: 9 }));
    await expect(purge(harness.world, ended.run)).rejects.toMatchObject({ code: "RowNewer" });
    await loadObjects(harness, ended);
  });

  test("leaves a run to its expiry when its time ends meanwhile", async () => {
    const harness = createHarness();
    const row = await endedRun(harness, "key");
    const table = withCalls(harness.world.table, {
      purge: (of) => {
        pastRetention(harness);
        return harness.world.table.decide({ ...of, now: harness.clock.now() }, PURGE);
      },
    });
    const before = countLeftovers(harness, row);
    expect(await purge({ ...harness.world, table }, row.run)).toEqual({ kind: "missing" });
    expect(countLeftovers(harness, row)).toEqual(before);
  });
});
