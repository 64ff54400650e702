import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  OPEN_RUNS_MAX,
  type SpendCounter,
  type SpendLimits,
  atTime,
  monthOf,
  reserveIn,
  settleIn,
  usedIn,
} from "../../src/protocol/spend-counter.ts";

const DAY_MS = 24 * 3_600_000;
const NOON = Date.UTC(2026, 10, 25, 12);
const NO_LIMITS: SpendLimits = {};

function reserved(counter: SpendCounter | null, id: string, microUsd = 0, at = NOON): SpendCounter {
  const outcome = reserveIn(counter, { id, at, microUsd, limits: NO_LIMITS });
  if (outcome.kind !== "reserved") throw new Error(outcome.kind);
  return outcome.next;
}

const ended = (id: string, microUsd: number) => ({ id, row: { hasEnded: true, microUsd }, isOver: false });
const works = (id: string, microUsd: number) => ({ id, row: { hasEnded: false, microUsd }, isOver: false });

describe("a period", () => {
  test("is a month of the calendar, at every day of a thousand years", () => {
    fc.assert(
      fc.property(fc.integer({ min: -20_000, max: 345_000 }), (day) => {
        const date = new Date(day * DAY_MS);
        expect(monthOf(day)).toBe(12 * date.getUTCFullYear() + date.getUTCMonth());
        const refused = reserveIn(null, { id: "r", at: day * DAY_MS, microUsd: 0, limits: { month: { runs: 0 } } });
        const resetsAt = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
        expect(refused).toEqual({ kind: "spent", what: "runs", per: "month", resetsAt });
      }),
      { numRuns: 2_000 },
    );
  });

  test("begins empty, and a clock that goes back opens no earlier one", () => {
    const first = reserved(null, "r1");
    const next = atTime(first, NOON + DAY_MS);
    expect([usedIn(next, "day").runs, usedIn(next, "month").runs]).toEqual([0, 1]);
    expect(atTime(next, NOON)).toEqual(next);
    expect(atTime(first, NOON + 31 * DAY_MS).open).toEqual({});
  });
});

test("a run counts in the periods in which it was reserved, however long it is under way", () => {
  const tomorrow = atTime(reserved(null, "r1", 500), NOON + DAY_MS);
  expect({ day: usedIn(tomorrow, "day").microUsd, month: usedIn(tomorrow, "month").microUsd }).toEqual({
    day: 0,
    month: 500,
  });
});

test("a limit of runs allows as many", () => {
  const limits = { day: { runs: 1 } };
  const first = reserveIn(null, { id: "r1", at: NOON, microUsd: 0, limits });
  expect(first.kind).toBe("reserved");
  const next = first.kind === "reserved" ? first.next : null;
  expect(reserveIn(next, { id: "r2", at: NOON, microUsd: 0, limits })).toMatchObject({ kind: "spent", what: "runs" });
});

test("a start that came to nothing frees its place after two days, and counts with what it reserved", () => {
  const first = reserved(null, "r1", 500);
  const absent = { id: "r1", row: null, isOver: false };
  const seenAfter = (days: number): SpendCounter => settleIn(atTime(first, NOON + days * DAY_MS), absent);
  expect(Object.keys(seenAfter(1).open)).toEqual(["r1"]);
  expect({ open: seenAfter(2).open, used: usedIn(seenAfter(2), "month") }).toEqual({
    open: {},
    used: { runs: 1, microUsd: 500 },
  });
});

describe("a limit", () => {
  test("of runs takes as many, and says when the next period begins", () => {
    const limits = { day: { runs: 2 } };
    const two = reserved(reserved(null, "r1"), "r2");
    const refused = reserveIn(two, { id: "r3", at: NOON, microUsd: 0, limits });
    expect(refused).toEqual({ kind: "spent", what: "runs", per: "day", resetsAt: Date.UTC(2026, 10, 26) });
    expect(reserveIn(two, { id: "r3", at: NOON + DAY_MS, microUsd: 0, limits }).kind).toBe("reserved");
  });

  test("of money counts what runs under way reserve, and what ended ones spent", () => {
    const limits = { month: { microUsd: 100 } };
    const ask = (counter: SpendCounter, microUsd: number) =>
      reserveIn(counter, { id: "next", at: NOON, microUsd, limits }).kind;
    const open = reserved(null, "r1", 80);
    expect([ask(open, 20), ask(open, 21)]).toEqual(["reserved", "spent"]);
    const settled = settleIn(open, ended("r1", 30));
    expect([ask(settled, 70), ask(settled, 71)]).toEqual(["reserved", "spent"]);
    expect(settleIn(settled, ended("r1", 30))).toEqual(settled);
  });

  test("of money counts a run for more than it reserved once it spent more", () => {
    const open = settleIn(reserved(null, "r1", 80), works("r1", 90));
    expect(usedIn(open, "day")).toEqual({ runs: 1, microUsd: 90 });
    expect(usedIn(settleIn(open, works("r1", 85)), "day").microUsd).toBe(90);
  });
});

test("the same start is counted once", () => {
  expect(reserveIn(reserved(null, "r1", 5), { id: "r1", at: NOON, microUsd: 5, limits: NO_LIMITS })).toEqual({
    kind: "already",
  });
});

test("a run that ends in another period counts in that of its start", () => {
  const nextDay = settleIn(atTime(reserved(null, "r1", 80), NOON + DAY_MS), ended("r1", 30));
  expect([usedIn(nextDay, "day").microUsd, usedIn(nextDay, "month").microUsd]).toEqual([0, 30]);
});

test("a run that is gone counts for what it reserved, and one that was not created yet stays open", () => {
  const open = reserved(null, "r1", 80);
  const gone = settleIn(open, { id: "r1", row: null, isOver: true });
  expect({ microUsd: usedIn(gone, "day").microUsd, open: gone.open }).toEqual({ microUsd: 80, open: {} });
  expect(settleIn(open, { id: "r1", row: null, isOver: false })).toEqual(open);
});

test("the run that was looked at longest ago is the first", () => {
  const three = ["r1", "r2", "r3"].reduce<SpendCounter | null>((counter, id) => reserved(counter, id), null);
  expect(Object.keys(settleIn(three as SpendCounter, works("r1", 0)).open)).toEqual(["r2", "r3", "r1"]);
});

test("more runs under way than a counter holds are refused", () => {
  const run = { day: Math.floor(NOON / DAY_MS), month: monthOf(Math.floor(NOON / DAY_MS)), microUsd: 0 };
  const open = Object.fromEntries(Array.from({ length: OPEN_RUNS_MAX }, (_, at) => [`r${at}`, run]));
  const full = { ...reserved(null, "r0"), open };
  expect(reserveIn(full, { id: "next", at: NOON, microUsd: 0, limits: NO_LIMITS })).toMatchObject({
    ...{ kind: "spent", what: "open" },
  });
});
