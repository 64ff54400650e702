/** What a run leaves behind goes when its row has gone: once, late, in pieces, and never of another incarnation. */
import { describe, expect, test } from "vitest";
import type { TelemetryRecord } from "../../src/ports/world.ts";
import { cleanUp } from "../../src/history/clean-up.ts";
import { show } from "../../src/operations/views.ts";
import { purge } from "../../src/operations/purge.ts";
import { cleanRemoved } from "../support/drive.ts";
import { NOTHING, endedRun, finish, keyExpires, readable, remains, startKeyed, upkeep } from "../support/remains.ts";
import { type Stage, rowOf, stage } from "../support/stage.ts";
import { rewritten } from "../support/rewritten.ts";

const HOUR_MS = 3_600_000;

/** Lets the time of every ended run pass. */
function pastRetention({ clock, world }: Stage): void {
  clock.moveTo(clock.now() + world.limits.retentionMs + 1_000);
}

describe("an expired run", () => {
  test("leaves nothing behind: row, objects, inbox and seen ids", async () => {
    const on = stage();
    const row = await endedRun(on, "key");
    const { objects, messages } = remains(on, row);
    expect([objects > 3, messages]).toEqual([true, 1]);
    on.world.store.expire(on.clock.now());
    await cleanRemoved(on.world, upkeep(on.world));
    expect(remains(on, row)).toEqual({ rows: 1, objects, messages });
    pastRetention(on);
    on.world.store.expire(on.clock.now());
    expect(remains(on, row)).toEqual({ rows: 0, objects, messages });
    await cleanRemoved(on.world, upkeep(on.world));
    expect(remains(on, row)).toEqual(NOTHING);
    expect(on.world.store.objects.size).toBe(0);
    // Told twice, or long after: nothing is left to do.
    await cleanUp(on.world, row);
  });

  test("schedule 19: an old clean-up that comes after the key started the run again touches nothing of it", async () => {
    const on = stage();
    const old = await endedRun(on, "key");
    keyExpires(on, old.run);
    on.world.store.expire(on.clock.now());
    const fresh = await startKeyed(on, "key");
    expect(fresh.run).toBe(old.run);
    expect(fresh.born).not.toBe(old.born);
    const before = remains(on, fresh);
    await cleanRemoved(on.world, upkeep(on.world));
    expect([remains(on, old), remains(on, fresh)]).toEqual([NOTHING, before]);
    const done = await readable(on, await finish(on, fresh));
    await cleanUp(on.world, old);
    await readable(on, done);
    expect(await show(on.world, done.run)).toMatchObject({ status: "completed", result: "over" });
    // The words to the new run were no duplicate of those to the old one.
    expect(remains(on, fresh).messages).toBe(1);
  });

  test("schedule 32: one whose key is used before it was deleted is cleaned up as well", async () => {
    const on = stage();
    const old = await endedRun(on, "key");
    keyExpires(on, old.run);
    // No expiry by the store has happened: creation finds the expired row in its place.
    const fresh = await startKeyed(on, "key");
    expect(on.world.store.removed).toEqual([{ run: old.run, born: old.born }]);
    await cleanRemoved(on.world, upkeep(on.world));
    expect(remains(on, old)).toEqual(NOTHING);
    await readable(on, await finish(on, fresh));
  });

  test("schedule 41: a run whose end is not told neither expires nor is purged", async () => {
    const on = stage();
    const told = await endedRun(on, "key");
    on.world.store.rows.set(told.run, { ...told, endNotified: false, expiresAtSec: null });
    on.world.store.expire(on.clock.now() + 10_000 * HOUR_MS);
    const of = { run: told.run, born: told.born, now: on.clock.now() };
    expect(await on.world.table.purge(of)).toMatchObject({ kind: "kept" });
    expect(on.world.store.removed).toEqual([]);
    await readable(on, rowOf(on, told.run));
  });

  test("whose row is still there keeps its objects, and an alarm is raised", async () => {
    const on = stage();
    const row = await endedRun(on, "key");
    const before = remains(on, row);
    const records: TelemetryRecord[] = [];
    const world = { ...on.world, telemetry: { record: (record: TelemetryRecord) => void records.push(record) } };
    await cleanUp(world, row);
    // Past its time and not deleted is there as well: the event is early.
    pastRetention(on);
    await cleanUp(world, row);
    expect(remains(on, row)).toEqual(before);
    expect(records.map(({ level, what }) => [level, what])).toEqual([
      ["alarm", "NotRemoved"],
      ["alarm", "NotRemoved"],
    ]);
  });
});

describe("purge", () => {
  test("removes an ended run at once, and its removal is told as any other", async () => {
    const on = stage();
    const [row, other] = [await endedRun(on, "key"), await endedRun(on, "another")];
    expect(await purge(on.world, row.run)).toMatchObject({ kind: "purged", row: { born: row.born } });
    expect(remains(on, row)).toEqual(NOTHING);
    expect(on.world.store.removed).toEqual([{ run: row.run, born: row.born }]);
    await cleanRemoved(on.world, upkeep(on.world));
    await readable(on, other);
    expect(await purge(on.world, row.run)).toEqual({ kind: "missing" });
  });

  test("tells the end first where that is still owed", async () => {
    const on = stage();
    const row = await endedRun(on, "key");
    on.world.store.rows.set(row.run, { ...row, endNotified: false, expiresAtSec: null });
    const told: string[] = [];
    const table = { ...on.world.table };
    table.recordEndNotified = (of) => on.world.table.recordEndNotified(of).finally(() => told.push("told"));
    table.purge = (of) => on.world.table.purge(of).finally(() => told.push("purged"));
    expect(await purge({ ...on.world, table }, row.run)).toMatchObject({ kind: "purged" });
    expect(told).toEqual(["told", "purged"]);
  });

  test("refuses what goes on, and what another version wrote", async () => {
    const on = stage();
    const live = await startKeyed(on, "live");
    const before = remains(on, live);
    expect(await purge(on.world, live.run)).toMatchObject({ kind: "live", row: { status: "queued" } });
    expect(remains(on, live)).toEqual(before);
    const ended = await endedRun(on, "key");
    on.world.store.rows.set(ended.run, rewritten(ended, { format: 9 }));
    await expect(purge(on.world, ended.run)).rejects.toMatchObject({ code: "RowNewer" });
    await readable(on, ended);
  });

  test("leaves a run to its expiry whose time runs out meanwhile", async () => {
    const on = stage();
    const row = await endedRun(on, "key");
    const table = { ...on.world.table };
    table.purge = (of) => {
      pastRetention(on);
      return on.world.table.purge({ ...of, now: on.clock.now() });
    };
    const before = remains(on, row);
    expect(await purge({ ...on.world, table }, row.run)).toEqual({ kind: "missing" });
    expect(remains(on, row)).toEqual(before);
  });
});
