/** The resume table: what becomes of a call that a crash or a silence left open is computed, never guessed. */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import { EFFECTS, EFFECT_NAMES, STRICTEST, isStricter } from "../../src/core/calls/effects.ts";
import { recoveryAfterCrash, recoveryAfterTimeout } from "../../src/core/calls/ledger.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { SHA } from "../support/states/states-and-events.ts";

const CLASSES = ["none", "keyed", "idempotent", "probed", "unsafe"] as const;

const open = (effect: (typeof CLASSES)[number] | null, tries = 0): OpenCall => ({
  ...{
    call: "c1",
    tool: "book",
    status: "started",
    releasedBy: 1,
    attempts: tries,
    timesUnknown: 0,
    reconcilableFrom: null,
    answer: null,
  },
  probeAt: null,
  edited: null,
  intent: effect === null ? null : { effect, key: "k", argsDigest: SHA },
});

describe("after a crash", () => {
  test.each([
    ["none", "again"],
    ["keyed", "again"],
    ["idempotent", "probe"],
    ["probed", "probe"],
    ["unsafe", "ask"],
  ] as const)("%s: %s", (effect, then) => {
    expect(recoveryAfterCrash(open(effect), true)).toBe(then);
  });

  test.each([...CLASSES, null])("%s: asks about the call when its tool is gone", (effect) => {
    expect(recoveryAfterCrash(open(effect), false)).toBe("ask");
  });

  test("a call without an intent is not repeated, because its effect class is unknown", () => {
    expect(recoveryAfterCrash(open(null), true)).toBe("ask");
  });
});

describe("after a timeout", () => {
  test.each([
    ["none", ["again", "again", "tell"]],
    ["keyed", ["again", "again", "tell"]],
    ["idempotent", ["probe", "probe", "ask"]],
    ["probed", ["probe", "probe", "ask"]],
    ["unsafe", ["ask", "ask", "ask"]],
  ] as const)("%s: %s", (effect, each) => {
    const tries = Array.from({ length: BOUNDS.callTriesMax }, (_, index) => index);
    expect(tries.map((count) => recoveryAfterTimeout(open(effect, count)))).toEqual(each);
  });

  test("makes no try beyond the bound, even if the count is wrong", () => {
    expect(recoveryAfterTimeout(open("keyed", 9))).toBe("tell");
  });

  test("applies the strictest row to a call without an intent", () => {
    expect(recoveryAfterTimeout(open(null))).toBe("ask");
  });
});

test("the table has one row per effect class, from the freest to the strictest, with a description", () => {
  expect(EFFECT_NAMES).toEqual(CLASSES);
  expect(EFFECT_NAMES.filter((each) => isStricter(each, "keyed"))).toEqual(["idempotent", "probed", "unsafe"]);
  expect(EFFECT_NAMES.filter((each) => isStricter(each, STRICTEST))).toEqual([]);
  expect(EFFECTS.keyed.inWords).toContain("same key");
  expect(EFFECTS.unsafe.inWords).toContain("never runs again by itself");
});

describe("the columns of the effect table agree with one another", () => {
  const rows = EFFECT_NAMES.map((name) => ({ name, ...EFFECTS[name] }));

  test.each(rows)("$name: a class with a probe is probed, and only one that may repeat runs again", (row) => {
    expect(row.onTimeout).toBe(row.onCrash);
    expect(!row.hasProbe || row.onCrash === "probe").toBe(true);
    expect(row.onCrash === "ask").toBe(!row.mayRepeat);
    expect(row.startsOnce).toBe(row.hasProbe || !row.mayRepeat);
  });

  test.each(rows)("$name: only a class with outside effects is known to an external service", (row) => {
    expect(row.actsOutside || !row.isKnownByKey).toBe(true);
    expect(row.actsOutside || !row.isDeduplicated).toBe(true);
    expect(row.overlapsEarlierTries).toBe(row.actsOutside && !row.startsOnce);
  });
});
