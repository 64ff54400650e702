/** The outcome of a firing under each policy, in virtual time. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { CERTAIN_MS, LATE_MS, decideFiring, type LastFiring } from "../../../src/protocol/firing.ts";
import { limitsFor } from "../../../src/protocol/limits.ts";
import type { World } from "../../../src/ports/world.ts";
import { fire, fireInTime } from "../../../src/features/schedules/fire.ts";
import { lastFired } from "../../../src/features/schedules/schedule-memory.ts";
import { startRun } from "../../../src/operations/start.ts";
import { runTask } from "../../../src/maintenance/chain-tasks.ts";
import { runnerOf } from "../../support/harness/drive.ts";
import {
  type ScheduleHarness,
  lastFullHour,
  createScheduleHarness,
  scheduledAgent,
} from "../../support/harness/schedule-harness.ts";
import { scriptedAgent, MS } from "../../support/harness/harness.ts";

const remembered = async (of: ScheduleHarness): Promise<LastFiring | null> =>
  lastFired(of.world, { agent: scheduledAgent(), tenant: "lane" });

/** Advances the clock to the next firing and delivers it in time. */
const at = (of: ScheduleHarness, moment: number) => {
  of.harness.clock.moveTo(moment);
  return of.fire(moment);
};

describe("overlap", () => {
  test("skip: starts no run while the last one is alive, records that without an alarm, and starts the next one", async () => {
    const records: unknown[] = [];
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    const telemetry = { record: (record: unknown) => void records.push(record) };
    expect(await at(of, first)).toEqual({ kind: "started", run: of.runOf(first) });
    of.harness.clock.moveTo(first + MS.hour);
    const skipped = await of.fire(first + MS.hour, { world: { ...of.world, telemetry } });
    expect(skipped).toEqual({ kind: "skipped", run: of.runOf(first) });
    expect(records).toMatchObject([{ level: "trace", what: "FiringSkipped", run: of.runOf(first) }]);
    expect(await remembered(of)).toMatchObject({ at: first + MS.hour, run: of.runOf(first), stage: "passed" });
    of.end(of.runOf(first));
    // The skipped firing stays skipped, although no run is alive now.
    expect(await of.fire(first + MS.hour)).toEqual({ kind: "late" });
    expect(await at(of, first + 2 * MS.hour)).toEqual({ kind: "started", run: of.runOf(first + 2 * MS.hour) });
  });

  test("skip: treats a removed run as not alive", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await at(of, first);
    of.harness.world.store.rows.delete(of.runOf(first));
    expect(await at(of, first + MS.hour)).toMatchObject({ kind: "started" });
    // That firing was decided, so its run is not created again.
    expect(await of.fire(first)).toEqual({ kind: "late" });
    expect(await of.fire(first + MS.hour)).toEqual({ kind: "exists", run: of.runOf(first + MS.hour) });
    expect(of.created).toHaveLength(2);
  });

  test("allow: starts each firing, also an older one as long as its run would still be found", async () => {
    const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
    const [first, second] = [lastFullHour(of) + MS.hour, lastFullHour(of) + 2 * MS.hour];
    expect(await at(of, second)).toMatchObject({ kind: "started" });
    expect(await of.fire(second - 1)).toMatchObject({ kind: "started" });
    expect(await of.fire(second - 1)).toMatchObject({ kind: "exists" });
    // Its key is kept for at least a day, so the older run certainly never existed.
    expect(await of.fire(first)).toMatchObject({ kind: "started" });
    of.harness.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first - 1)).toEqual({ kind: "late" });
    expect(of.mostAlive()).toBe(3);
    expect(await remembered(of)).toMatchObject({ at: second, stage: "started" });
  });
});

describe("missed", () => {
  test("latest: an old firing starts its run unless a newer firing was decided", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    of.harness.clock.moveTo(first + 9 * MS.hour);
    expect(await of.fire(first + 3 * MS.hour)).toMatchObject({ kind: "started" });
    expect(await of.fire(first)).toEqual({ kind: "late" });
  });

  test("skip: a firing that arrives after all retries of its trigger never starts a run", async () => {
    const of = createScheduleHarness(scheduledAgent({ missed: "skip" }));
    const first = lastFullHour(of) + MS.hour;
    of.harness.clock.moveTo(first + LATE_MS + 1);
    expect(await of.fire(first)).toEqual({ kind: "missed" });
    expect(await of.fire(first)).toEqual({ kind: "late" });
    of.harness.clock.moveTo(first + MS.hour + LATE_MS);
    expect(await of.fire(first + MS.hour)).toMatchObject({ kind: "started" });
  });

  test("does not make up for firings before the schedule existed, and fires the next one", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    of.harness.clock.moveTo(first + 1);
    expect(await of.fire(first, { watched: false })).toEqual({ kind: "unseen" });
    expect(await of.fire(first, { watched: false })).toEqual({ kind: "late" });
    expect(await at(of, first + MS.hour)).toMatchObject({ kind: "started" });
    of.end(of.runOf(first + MS.hour));
    // No process ran, and the schedule existed, so the firing was missed.
    of.harness.clock.moveTo(first + 4 * MS.hour);
    expect(await of.fire(first + 3 * MS.hour, { watched: false })).toMatchObject({ kind: "started" });
  });

  test("does not make up for firings before the schedule was changed", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await at(of, first);
    const other = scheduledAgent({ every: "rate(2 hours)" });
    of.harness.clock.moveTo(first + 2 * MS.hour);
    const firing = { agent: other, tenant: "lane", at: first + MS.hour, watched: false, startRun };
    expect((await fire(of.world, of.harness.invocation(), firing)).outcome).toEqual({ kind: "unseen" });
  });
});

describe("an unconfirmed decision", () => {
  /** A decision whose process died before it created the run. */
  async function unconfirmed(of: ScheduleHarness, moment: number): Promise<void> {
    of.harness.clock.moveTo(moment);
    const create: World["table"]["create"] = () => Promise.reject(new Error("no store"));
    await expect(of.fire(moment, { world: { ...of.world, table: { ...of.world.table, create } } })).rejects.toThrow(
      "no store",
    );
    expect(await remembered(of)).toMatchObject({ stage: "starting" });
  }

  test("is carried out as long as a run that it started would still be found", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await unconfirmed(of, first);
    // The failed process released the lease, so the next firing need not wait for its expiry.
    of.harness.clock.moveTo(first + CERTAIN_MS - 1);
    expect(await of.fire(first)).toEqual({ kind: "exists", run: of.runOf(first) });
    expect(of.created).toEqual([of.runOf(first)]);
  });

  test("is confirmed without an alarm by the tombstone of its run, however late", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await unconfirmed(of, first);
    const [run, now] = [of.runOf(first), of.harness.clock.now()];
    const kept = {
      run,
      born: "b",
      agent: "actor",
      inputDigest: "d",
      status: "completed",
      endedAt: now,
      epoch: 1,
    } as const;
    await of.harness.world.table.keepKey({ ...kept, expiresAtSec: (now + 30 * CERTAIN_MS) / 1_000 });
    of.harness.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first)).toEqual({ kind: "exists", run });
    expect({ created: of.created, alarms: of.harness.alarms }).toEqual({ created: [], alarms: [] });
  });

  test("is done when its run has ended and was removed: no run starts again", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await unconfirmed(of, first);
    const [run, now] = [of.runOf(first), of.harness.clock.now()];
    const kept = {
      run,
      born: "b",
      agent: "actor",
      inputDigest: "d",
      status: "completed",
      endedAt: now,
      epoch: 1,
    } as const;
    await of.harness.world.table.keepKey({ ...kept, expiresAtSec: (now + 30 * CERTAIN_MS) / 1_000 });
    of.harness.clock.moveTo(first + CERTAIN_MS - MS.hour);
    expect(await of.fire(first)).toEqual({ kind: "exists", run });
    expect({ created: of.created, alarms: of.harness.alarms }).toEqual({ created: [], alarms: [] });
  });

  test("is dropped after that with an alarm, because its run may have existed and be gone", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    await unconfirmed(of, first);
    of.harness.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first + MS.hour)).toEqual({ kind: "started", run: of.runOf(first + MS.hour) });
    expect(of.harness.alarms).toMatchObject([{ what: "FiringUncertain", run: of.runOf(first) }]);
    expect(of.created).toEqual([of.runOf(first + MS.hour)]);
  });

  test("relies on keys of ended runs being kept for that long", () => {
    expect(() => limitsFor(60_000, { keyRetentionMs: CERTAIN_MS - 1 })).toThrow("kept for a day");
  });
});

describe("a clock that jumps", () => {
  test("ahead and back again blocks no firing", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const first = lastFullHour(of) + MS.hour;
    of.harness.clock.moveTo(first);
    expect(await of.fire(first + 9_000 * MS.hour)).toMatchObject({ kind: "started" });
    of.end(of.runOf(first + 9_000 * MS.hour));
    expect(await of.fire(first)).toMatchObject({ kind: "started" });
    expect(await remembered(of)).toMatchObject({ at: first });
  });

  test("back by less than an hour repeats no firing", () => {
    const last = { at: 10 * MS.hour, decidedAt: 10 * MS.hour, run: "r", stage: "started", of: "x" } as const;
    const firing = { of: "x", watched: true, overlap: "skip", missed: "latest" } as const;
    expect(decideFiring(last, { ...firing, at: 9.5 * MS.hour, now: 9.5 * MS.hour })).toEqual({ kind: "late" });
    expect(decideFiring(last, { ...firing, at: 10 * MS.hour, now: 1 })).toEqual({ kind: "exists", run: "r" });
  });
});

describe("a mutex lease that another firing holds", () => {
  const held = async (of: ScheduleHarness, ms: number): Promise<void> => {
    const { now } = of.harness.clock;
    await of.harness.world.leases.take({
      name: "schedule lane actor",
      owner: "other",
      until: now() + ms,
      now: now(),
    });
  };

  test("is reported with its expiry", async () => {
    const of = createScheduleHarness(scheduledAgent());
    await held(of, 1_000);
    expect(await of.fire(lastFullHour(of))).toEqual({ kind: "held", until: of.harness.clock.now() + 1_000 });
  });

  test("is awaited until the deadline, for a trigger that retries failures late", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const firing = { agent: scheduledAgent(), tenant: "lane", at: lastFullHour(of), watched: true, startRun };
    await held(of, 1_200);
    const begun = of.harness.clock.now();
    const { outcome } = await of.harness.advanceUntilSettled(fireInTime(of.world, of.harness.invocation(), firing));
    expect(outcome).toMatchObject({ kind: "started" });
    expect(of.harness.clock.now() - begun).toBe(1_500);
    await held(of, MS.hour);
    await expect(of.harness.advanceUntilSettled(fireInTime(of.world, of.harness.invocation(), firing))).rejects.toThrow(
      "has to be delivered again",
    );
    expect(of.harness.clock.now() - begun).toBeLessThan(5_000);
  });
});

describe("a task of the chain", () => {
  const task = { kind: "firing", agent: "actor", tenant: "lane", watched: true } as const;

  test("fires, and refuses an agent without a schedule or whose task rejects the schedule's input", async () => {
    const of = createScheduleHarness(scheduledAgent());
    const perform = (agent: Parameters<typeof runnerOf>[1]) =>
      runTask(runnerOf(of.world, agent))({ ...task, at: lastFullHour(of) }, of.harness.invocation());
    await expect(perform(scriptedAgent({}))).rejects.toThrow("agent actor has no schedule");
    const strict = { ...scheduledAgent(), task: z.object({ to: z.string() }) };
    await expect(perform(strict)).rejects.toThrow("the schedule of actor: input: ");
    expect(await perform(scheduledAgent())).toMatchObject({ kind: "firing", outcome: { kind: "exists" } });
  });
});
