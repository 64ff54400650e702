/**
 * A firing of a schedule whose process dies, or freezes and thaws, at any of its calls: at most one run for each time, none
 * over one that is alive, and nothing that was decided is lost.
 */
import { describe, expect, test } from "vitest";
import type { FiringOutcome } from "../../../src/protocol/firing.ts";
import { crashAtCall, forEachCrashPoint } from "../../support/faults/crash-at-call.ts";
import {
  type ScheduleHarness,
  lastFullHour,
  createScheduleHarness,
  scheduledAgent,
} from "../../support/harness/schedule-harness.ts";
import { freezeAtCall } from "../../support/faults/freeze-at-call.ts";
import { MS } from "../../support/harness/harness.ts";

/** Delivers it until something comes of it. */
async function delivered(of: ScheduleHarness, at: number): Promise<FiringOutcome> {
  for (let copy = 0; copy < 3; copy += 1) {
    const outcome = await of.fire(at).catch(() => null);
    if (outcome !== null && outcome.kind !== "held") return outcome;
    of.lapse();
  }
  throw new Error("nothing comes of the firing");
}

/** What was decided last, as it is stored. */
const decided = (of: ScheduleHarness): { readonly at?: number } =>
  JSON.parse([...of.harness.world.store.turns.values()][0]?.cursor ?? "{}") as { readonly at?: number };

describe("a firing that dies at any of its calls", () => {
  test("and is delivered again starts one run", async () => {
    const crashes = await forEachCrashPoint(async (crash) => {
      const of = createScheduleHarness(scheduledAgent());
      const at = lastFullHour(of);
      const hasSurvived = await crashAtCall(of.world, crash).survives((world) => of.fire(at, { world }));
      of.lapse();
      expect(await delivered(of, at)).toMatchObject({ run: of.runOf(at) });
      expect(of.created).toEqual([of.runOf(at)]);
      expect(of.harness.world.chain.executions.size).toBe(1);
      return hasSurvived;
    });
    expect(crashes).toBeGreaterThan(15);
  });

  test("is made up for by the next firing if it was decided, and that one does not overlap it", async () => {
    const fates = new Set<string>();
    await forEachCrashPoint(async (crash) => {
      const of = createScheduleHarness(scheduledAgent());
      const at = lastFullHour(of);
      const hasSurvived = await crashAtCall(of.world, crash).survives((world) => of.fire(at, { world }));
      const wasDecided = decided(of).at === at;
      of.harness.clock.moveTo(at + MS.hour);
      const next = await delivered(of, at + MS.hour);
      const first = of.runOf(wasDecided ? at : at + MS.hour);
      expect(next).toEqual({ kind: wasDecided ? "skipped" : "started", run: first });
      expect(of.created).toEqual([first]);
      expect(await delivered(of, at)).toEqual({ kind: "late" });
      // It does not hold up what comes after it for ever.
      of.end(first);
      expect(await delivered(of, at + 2 * MS.hour)).toEqual({ kind: "started", run: of.runOf(at + 2 * MS.hour) });
      expect(of.mostAlive()).toBe(1);
      fates.add(next.kind);
      return hasSurvived;
    });
    expect(fates).toEqual(new Set(["skipped", "started"]));
  });

  test("is not lost when the next one dies either", async () => {
    const histories = await forEachCrashPoint(async (first) => {
      let hasSurvived = true;
      await forEachCrashPoint(async (second) => {
        const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
        const at = lastFullHour(of);
        hasSurvived = await crashAtCall(of.world, first).survives((world) => of.fire(at, { world }));
        of.lapse();
        const isOver = await crashAtCall(of.world, second).survives((world) => of.fire(at + MS.hour, { world }));
        of.lapse();
        await delivered(of, at);
        await delivered(of, at + MS.hour);
        expect(of.created.toSorted()).toEqual([of.runOf(at), of.runOf(at + MS.hour)].toSorted());
        return isOver;
      });
      return hasSurvived;
    });
    expect(histories).toBeGreaterThan(15);
  });
});

describe("a firing that freezes at any of its calls, and thaws after another one came", () => {
  const ORDERS = [
    ["the same one", 0, 0],
    ["the next one", 0, MS.hour],
    ["the one before it", MS.hour, 0],
  ] as const;
  const CASES = ORDERS.flatMap(([name, frozen, other]) =>
    [true, false].map((isTakenForDead) => ({ name, frozen, other, isTakenForDead })),
  );

  /** Both are delivered again until something comes of them. */
  async function bothCame(
    of: ScheduleHarness,
    how: { readonly crash: Parameters<typeof freezeAtCall>[1]; readonly isTakenForDead: boolean },
    firings: readonly [frozen: number, other: number],
  ): Promise<boolean> {
    const [frozen, other] = firings;
    const process = freezeAtCall(of.world, how.crash);
    const work = of.fire(frozen, { world: process.world });
    work.catch(() => undefined);
    const isFrozen = await process.freezes(work);
    if (how.isTakenForDead) of.lapse();
    await of.fire(other).catch(() => undefined);
    process.thaw();
    await work.catch(() => undefined);
    for (const at of firings) await delivered(of, at);
    return !isFrozen;
  }

  test.each(CASES)("$name (presumed dead: $isTakenForDead): one run, none over another", async (how) => {
    const histories = await forEachCrashPoint(async (crash) => {
      const of = createScheduleHarness(scheduledAgent());
      const at = lastFullHour(of);
      of.harness.clock.moveTo(at + MS.hour);
      const isOver = await bothCame(of, { ...how, crash }, [at + how.frozen, at + how.other]);
      expect(of.created).toHaveLength(1);
      expect(of.mostAlive()).toBe(1);
      return isOver;
    });
    expect(histories).toBeGreaterThan(15);
  });

  test.each(CASES)(
    "$name (presumed dead: $isTakenForDead): a run for each time, where they may overlap",
    async (how) => {
      await forEachCrashPoint(async (crash) => {
        const of = createScheduleHarness(scheduledAgent({ overlap: "allow" }));
        const at = lastFullHour(of);
        of.harness.clock.moveTo(at + MS.hour - 60_000);
        const isOver = await bothCame(of, { ...how, crash }, [at + how.frozen, at + how.other]);
        const wanted = new Set([of.runOf(at + how.frozen), of.runOf(at + how.other)]);
        expect(of.created.toSorted()).toEqual([...wanted].toSorted());
        return isOver;
      });
    },
  );
});
