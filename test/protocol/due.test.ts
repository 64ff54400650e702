/** When a sweep has to judge a run: at once, unless the run waits in a park and nobody has written to it. */
import { describe, expect, test } from "vitest";
import { dueAt, isRowDue } from "../../src/protocol/due.ts";
import type { Row } from "../../src/protocol/row.ts";
import { BORN, RUN, row } from "../support/states/states-and-events.ts";

const park = { token: "t", entry: { execution: `${RUN}-${BORN}-1`, epoch: 0, retry: 0 } };
const parked = (change: Partial<Row> = {}): Row => row({ park, wakeAt: 500, deadline: 900, ...change });

describe("a run in a park", () => {
  test("is due when its wait ends, or at its deadline if no time ends the wait", () => {
    expect(dueAt(parked())).toBe(500);
    expect(dueAt(parked({ wakeAt: null }))).toBe(900);
  });

  test("is due to the millisecond", () => {
    expect({ at499: isRowDue(parked(), 499), at500: isRowDue(parked(), 500) }).toEqual({ at499: false, at500: true });
  });
});

test.each<[string, Row]>([
  ["that is at work", parked({ park: null })],
  ["that a message has reached since its last commit (schedule 144)", parked({ wakeCount: 3, wakeCountSeen: 2 })],
  ["that has ended and reported to nobody yet", parked({ status: "failed" })],
])("a run %s is due in any sweep", (_, any) => {
  expect({ at: dueAt(any), isDue: isRowDue(any, 0) }).toEqual({ at: 0, isDue: true });
});

test("a run whose end was delivered is never due again", () => {
  expect(isRowDue(row({ status: "completed", endNotified: true }), Infinity)).toBe(false);
});
