/** Calls that something holds: each row of the table, and the schema of what is stored. */
import { describe, expect, test } from "vitest";
import { heldBy } from "../../src/codec/schema/held-by.ts";
import {
  HELD,
  isDue,
  isHeld,
  isReleased,
  limitOf,
  mayHaveActed,
  phaseOfHeld,
  withoutHold,
} from "../../src/core/calls/held-calls.ts";
import { newCall } from "../../src/core/calls/open-calls.ts";
import type { HeldBy } from "../../src/core/held-by.ts";
import { inline } from "../../src/core/message.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { AT, SHA } from "../support/states/states-and-events.ts";

const gate: HeldBy = {
  ...{ by: "gate", gate: "gate-c1", planHash: SHA, argsHash: SHA, reason: "it costs money" },
  ...{ expiresAt: AT, decision: null },
};
const child: HeldBy = { by: "child", try: 1 };
const wait: HeldBy = {
  by: "wait",
  for: "event",
  event: "paid",
  until: AT + 1,
  atLimit: { kind: "tell" },
  from: AT,
  question: 1,
};

const held = (by: HeldBy): OpenCall => ({ ...newCall("c1", "book"), status: HELD[by.by].status, heldBy: by });

describe("a held call", () => {
  test.each([gate, child, wait])("is neither released nor due: $by", (by) => {
    const call = held(by);
    expect({ isHeld: isHeld(call), isDue: isDue(call), isReleased: isReleased(call) }).toEqual({
      isHeld: true,
      isDue: false,
      isReleased: false,
    });
    expect(isReleased(withoutHold({ ...call, status: "started" }))).toBe(true);
  });

  test("is due once a decision, a report or an answer came, and only a report ends the hold", () => {
    const decided = held({ ...gate, decision: { as: "approve", args: null, by: "ann", note: null } });
    const reported = held({ ...child, report: { status: "completed", value: inline("a memo") } });
    const given = held({ ...wait, given: { value: inline(1), by: "shop" } });
    expect([decided, reported, given].map(isDue)).toEqual([true, true, true]);
    expect([decided, reported, given].map(isHeld)).toEqual([true, false, true]);
  });

  test("may have acted if a child run works for it, and not at a gate or in a wait", () => {
    expect([gate, child, wait].map((by) => mayHaveActed(held(by)))).toEqual([false, true, false]);
  });

  test("ends without what it is held for at the limit of its gate or wait", () => {
    expect([gate, child, wait].map((by) => limitOf(held(by)))).toEqual([AT, null, AT + 1]);
  });

  test("gives the run its phase: a human comes before children, and children before events", () => {
    expect(phaseOfHeld([wait, child, gate].map(held))).toBe("AwaitingApproval");
    expect(phaseOfHeld([wait, child].map(held))).toBe("AwaitingChildren");
    expect(phaseOfHeld([held(wait)])).toBe("ExecutingTools");
  });
});

test("a hold of an unknown kind, or with the fields of another one, is not read", () => {
  expect([gate, child, wait].map((by) => heldBy.safeParse(by).success)).toEqual([true, true, true]);
  expect(heldBy.safeParse({ ...gate, by: "mutex" }).success).toBe(false);
  expect(heldBy.safeParse({ ...gate, by: "wait" }).success).toBe(false);
});
