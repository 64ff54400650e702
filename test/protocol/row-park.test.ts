/** A run that waits: whether an execution waits with it, and from when on a sweep wakes it. */
import { describe, expect, test } from "vitest";
import { TIMES } from "../../src/protocol/limits.ts";
import { NO_EXECUTION, PARK, isAsleep, isUnbegun, wakeAheadMs, wakeFrom } from "../../src/protocol/row-park.ts";
import type { Row } from "../../src/protocol/row.ts";
import { AT, BORN, RUN, row } from "../support/states/states-and-events.ts";

const entry = { execution: `${RUN}-${BORN}-1`, epoch: 1, retry: 0 };
const LIMITS = { openParkMs: 61_001 };
const parkedWith = (token: string, change: Partial<Row> = {}): Row =>
  row({ park: { token, entry }, wakeAt: AT + 500_000, deadline: AT + 900_000, ...change });

test("a run is asleep if the execution that parked it has ended", () => {
  expect(isAsleep(parkedWith(NO_EXECUTION))).toBe(true);
  expect(isAsleep(parkedWith("t1"))).toBe(false);
  expect(isAsleep(row())).toBe(false);
});

test("a run has not begun its next execution until a process has claimed it there", () => {
  const moved = row({ chain: 2 });
  expect(isUnbegun(moved)).toBe(true);
  // Its start has begun the first execution.
  expect(isUnbegun(row())).toBe(false);
  const others: readonly Partial<Row>[] = [
    { chainClaims: 1 },
    { owner: "A" },
    { park: { token: "t1", entry } },
    { status: "cancelled" },
  ];
  for (const change of others)
    expect({ change, is: isUnbegun({ ...moved, ...change }) }).toEqual({ change, is: false });
});

describe("a sweep", () => {
  test("wakes a sleeping run ahead by half the time of an open park", () => {
    expect(wakeAheadMs(LIMITS)).toBe(30_500);
    expect(wakeFrom(parkedWith(NO_EXECUTION), LIMITS)).toBe(AT + 500_000 - 30_500);
  });

  test("wakes none ahead where a park stays open for as long as a service allows", () => {
    const mostMs = TIMES.parkSecondsMax * 1_000;
    expect(wakeAheadMs({ openParkMs: mostMs })).toBe(mostMs / 2);
    expect(wakeAheadMs({ openParkMs: mostMs + 1 })).toBe(0);
  });

  test("wakes a run with an open execution when its wait ends", () => {
    expect(wakeFrom(parkedWith("t1"), LIMITS)).toBe(AT + 500_000);
  });

  test("schedule 178: never wakes a run ahead that waits until its deadline", () => {
    const until = (wakeAt: number): Row => parkedWith(NO_EXECUTION, { wakeAt, deadline: AT + 900_000 });
    expect(wakeFrom(until(AT + 900_000), LIMITS)).toBe(AT + 900_000);
    expect(wakeFrom(until(AT + 899_999), LIMITS)).toBe(AT + 899_999 - 30_500);
  });

  test("wakes no run that waits for a message alone", () => {
    expect(wakeFrom(parkedWith(NO_EXECUTION, { wakeAt: null }), LIMITS)).toBe(Infinity);
  });
});

test("a park is written only over the wake-up counter that it read", () => {
  const park = { run: RUN, born: BORN, now: AT, chain: 1, epoch: 1, entry, token: "t1" };
  expect(PARK.reads?.(park)).toEqual(["wakeCount"]);
});
