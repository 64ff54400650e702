/** What a firing comes to under each policy, in virtual time. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { CERTAIN_MS, LATE_MS, judged, type LastFiring } from "../../src/protocol/firing.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import type { World } from "../../src/ports/world.ts";
import { fire, fireInTime, lastFired } from "../../src/maintenance/firing.ts";
import { runTask } from "../../src/maintenance/chain-tasks.ts";
import { runnerOf } from "../support/drive.ts";
import { HOUR, type Plot, hourOf, plot, scheduled } from "../support/firing.ts";
import { actor, passing } from "../support/stage.ts";
import { invocation } from "../support/supervise.ts";

const remembered = async (of: Plot): Promise<LastFiring | null> =>
  lastFired(of.world, { agent: scheduled(), tenant: "lane" });

/** Time goes on to the next firing, which comes in time. */
const at = (of: Plot, moment: number) => {
  of.on.clock.moveTo(moment);
  return of.fire(moment);
};

describe("overlap", () => {
  test("skip: none while the last run is alive, told as a record and no alarm, then the next one", async () => {
    const records: unknown[] = [];
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    const telemetry = { record: (record: unknown) => void records.push(record) };
    expect(await at(of, first)).toEqual({ kind: "started", run: of.runOf(first) });
    of.on.clock.moveTo(first + HOUR);
    const skipped = await of.fire(first + HOUR, { world: { ...of.world, telemetry } });
    expect(skipped).toEqual({ kind: "skipped", run: of.runOf(first) });
    expect(records).toMatchObject([{ level: "trace", what: "FiringSkipped", run: of.runOf(first) }]);
    expect(await remembered(of)).toMatchObject({ at: first + HOUR, run: of.runOf(first), stage: "passed" });
    of.end(of.runOf(first));
    // What was skipped stays so, although nothing is alive now.
    expect(await of.fire(first + HOUR)).toEqual({ kind: "late" });
    expect(await at(of, first + 2 * HOUR)).toEqual({ kind: "started", run: of.runOf(first + 2 * HOUR) });
  });

  test("skip: a run that was removed is not alive", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await at(of, first);
    of.on.world.store.rows.delete(of.runOf(first));
    expect(await at(of, first + HOUR)).toMatchObject({ kind: "started" });
    // That firing was decided: its run is not made a second time.
    expect(await of.fire(first)).toEqual({ kind: "late" });
    expect(await of.fire(first + HOUR)).toEqual({ kind: "exists", run: of.runOf(first + HOUR) });
    expect(of.created).toHaveLength(2);
  });

  test("allow: one after another, and an older one as well while its run would still be found", async () => {
    const of = plot(scheduled({ overlap: "allow" }));
    const [first, second] = [hourOf(of) + HOUR, hourOf(of) + 2 * HOUR];
    expect(await at(of, second)).toMatchObject({ kind: "started" });
    expect(await of.fire(second - 1)).toMatchObject({ kind: "started" });
    expect(await of.fire(second - 1)).toMatchObject({ kind: "exists" });
    // Its key is kept for a day at least, so the older run is certain never to have been.
    expect(await of.fire(first)).toMatchObject({ kind: "started" });
    of.on.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first - 1)).toEqual({ kind: "late" });
    expect(of.mostAlive()).toBe(3);
    expect(await remembered(of)).toMatchObject({ at: second, stage: "started" });
  });
});

describe("missed", () => {
  test("latest: an old firing starts its run, unless a newer one was decided", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    of.on.clock.moveTo(first + 9 * HOUR);
    expect(await of.fire(first + 3 * HOUR)).toMatchObject({ kind: "started" });
    expect(await of.fire(first)).toEqual({ kind: "late" });
  });

  test("skip: what comes later than the retries of a trigger starts nothing, then or ever", async () => {
    const of = plot(scheduled({ missed: "skip" }));
    const first = hourOf(of) + HOUR;
    of.on.clock.moveTo(first + LATE_MS + 1);
    expect(await of.fire(first)).toEqual({ kind: "missed" });
    expect(await of.fire(first)).toEqual({ kind: "late" });
    of.on.clock.moveTo(first + HOUR + LATE_MS);
    expect(await of.fire(first + HOUR)).toMatchObject({ kind: "started" });
  });

  test("of a schedule that nobody knew at that time: nothing is made up for, and the next one fires", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    of.on.clock.moveTo(first + 1);
    expect(await of.fire(first, { watched: false })).toEqual({ kind: "unseen" });
    expect(await of.fire(first, { watched: false })).toEqual({ kind: "late" });
    expect(await at(of, first + HOUR)).toMatchObject({ kind: "started" });
    of.end(of.runOf(first + HOUR));
    // Nobody watched, and the schedule was known: it was missed.
    of.on.clock.moveTo(first + 4 * HOUR);
    expect(await of.fire(first + 3 * HOUR, { watched: false })).toMatchObject({ kind: "started" });
  });

  test("of a schedule that was written anew: its times before that are not its own", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await at(of, first);
    const other = scheduled({ every: "rate(2 hours)" });
    of.on.clock.moveTo(first + 2 * HOUR);
    const firing = { agent: other, tenant: "lane", at: first + HOUR, watched: false };
    expect((await fire(of.world, invocation(of.on), firing)).outcome).toEqual({ kind: "unseen" });
  });
});

describe("a decision that nobody confirmed", () => {
  /** Decided, and its run was never made. */
  async function unconfirmed(of: Plot, moment: number): Promise<void> {
    of.on.clock.moveTo(moment);
    const create: World["table"]["create"] = () => Promise.reject(new Error("no store"));
    await expect(of.fire(moment, { world: { ...of.world, table: { ...of.world.table, create } } })).rejects.toThrow(
      "no store",
    );
    expect(await remembered(of)).toMatchObject({ stage: "starting" });
  }

  test("is done while a run that it made would still be found", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await unconfirmed(of, first);
    // Who failed gave its turn up: nobody waits for it to lapse.
    of.on.clock.moveTo(first + CERTAIN_MS - 1);
    expect(await of.fire(first)).toEqual({ kind: "exists", run: of.runOf(first) });
    expect(of.created).toEqual([of.runOf(first)]);
  });

  test("is confirmed by the tombstone of its run, however late, and raises no alarm", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await unconfirmed(of, first);
    const [run, now] = [of.runOf(first), of.on.clock.now()];
    const kept = {
      run,
      born: "b",
      agent: "actor",
      inputDigest: "d",
      status: "completed",
      endedAt: now,
      epoch: 1,
    } as const;
    await of.on.world.table.keepKey({ ...kept, expiresAtSec: (now + 30 * CERTAIN_MS) / 1_000 });
    of.on.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first)).toEqual({ kind: "exists", run });
    expect([of.created, of.on.alarms]).toEqual([[], []]);
  });

  test("whose run has ended and gone meanwhile is done: nothing is started again", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await unconfirmed(of, first);
    const [run, now] = [of.runOf(first), of.on.clock.now()];
    const kept = {
      run,
      born: "b",
      agent: "actor",
      inputDigest: "d",
      status: "completed",
      endedAt: now,
      epoch: 1,
    } as const;
    await of.on.world.table.keepKey({ ...kept, expiresAtSec: (now + 30 * CERTAIN_MS) / 1_000 });
    of.on.clock.moveTo(first + CERTAIN_MS - HOUR);
    expect(await of.fire(first)).toEqual({ kind: "exists", run });
    expect([of.created, of.on.alarms]).toEqual([[], []]);
  });

  test("is left alone after that, with an alarm, since its run may have been there and be gone", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    await unconfirmed(of, first);
    of.on.clock.moveTo(first + CERTAIN_MS);
    expect(await of.fire(first + HOUR)).toEqual({ kind: "started", run: of.runOf(first + HOUR) });
    expect(of.on.alarms).toMatchObject([{ what: "FiringUncertain", run: of.runOf(first) }]);
    expect(of.created).toEqual([of.runOf(first + HOUR)]);
  });

  test("rests on the keys of ended runs being kept for so long", () => {
    expect(() => limitsFor(60_000, { keyRetentionMs: CERTAIN_MS - 1 })).toThrow("kept for a day");
  });
});

describe("a clock that jumps", () => {
  test("ahead and back again holds up nothing", async () => {
    const of = plot(scheduled());
    const first = hourOf(of) + HOUR;
    of.on.clock.moveTo(first);
    expect(await of.fire(first + 9_000 * HOUR)).toMatchObject({ kind: "started" });
    of.end(of.runOf(first + 9_000 * HOUR));
    expect(await of.fire(first)).toMatchObject({ kind: "started" });
    expect(await remembered(of)).toMatchObject({ at: first });
  });

  test("back by less than an hour repeats nothing", () => {
    const last = { at: 10 * HOUR, decidedAt: 10 * HOUR, run: "r", stage: "started", of: "x" } as const;
    const firing = { of: "x", watched: true, overlap: "skip", missed: "latest" } as const;
    expect(judged(last, { ...firing, at: 9.5 * HOUR, now: 9.5 * HOUR })).toEqual({ kind: "late" });
    expect(judged(last, { ...firing, at: 10 * HOUR, now: 1 })).toEqual({ kind: "exists", run: "r" });
  });
});

describe("a turn that another firing has", () => {
  const held = async (of: Plot, ms: number): Promise<void> => {
    const { now } = of.on.clock;
    await of.on.world.table.takeTurn({ name: "schedule lane actor", owner: "other", until: now() + ms, now: now() });
  };

  test("is told, with its end", async () => {
    const of = plot(scheduled());
    await held(of, 1_000);
    expect(await of.fire(hourOf(of))).toEqual({ kind: "held", until: of.on.clock.now() + 1_000 });
  });

  test("is waited for as long as there is time, for a trigger that repeats what fails", async () => {
    const of = plot(scheduled());
    const firing = { agent: scheduled(), tenant: "lane", at: hourOf(of), watched: true };
    await held(of, 1_200);
    const begun = of.on.clock.now();
    const { outcome } = await passing(of.on, fireInTime(of.world, invocation(of.on), firing));
    expect(outcome).toMatchObject({ kind: "started" });
    expect(of.on.clock.now() - begun).toBe(1_500);
    await held(of, HOUR);
    await expect(passing(of.on, fireInTime(of.world, invocation(of.on), firing))).rejects.toThrow(
      "has to be delivered again",
    );
    expect(of.on.clock.now() - begun).toBeLessThan(5_000);
  });
});

describe("a task of the chain", () => {
  const task = { kind: "firing", agent: "actor", tenant: "lane", watched: true } as const;

  test("fires, and refuses an agent that has no schedule or does not take its input any more", async () => {
    const of = plot(scheduled());
    const perform = (agent: Parameters<typeof runnerOf>[1]) =>
      runTask(runnerOf(of.world, agent))({ ...task, at: hourOf(of) }, invocation(of.on));
    await expect(perform(actor({}))).rejects.toThrow("agent actor has no schedule");
    const strict = { ...scheduled(), task: z.object({ to: z.string() }) };
    await expect(perform(strict)).rejects.toThrow("the schedule of actor: input: ");
    expect(await perform(scheduled())).toMatchObject({ kind: "firing", outcome: { kind: "exists" } });
  });
});
