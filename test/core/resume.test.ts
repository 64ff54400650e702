/** The resume table: what becomes of a call that a crash or a silence left open is computed, never guessed (seed 4). */
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import { RESUME, afterCrash, afterSilence } from "../../src/core/calls/ledger.ts";
import type { OpenCall } from "../../src/core/state.ts";
import { SHA } from "../support/build.ts";

const EFFECTS = ["none", "keyed", "probed", "unsafe"] as const;

const open = (effect: (typeof EFFECTS)[number] | null, tries = 0): OpenCall => ({
  ...{ call: "c1", tool: "book", status: "started", releasedBy: 1, tries, asked: 0, askFrom: null, answer: null },
  probeAt: null,
  gate: null,
  edited: null,
  intent: effect === null ? null : { effect, key: "k", argsDigest: SHA },
});

describe("after a crash", () => {
  test.each([
    ["none", "again"],
    ["keyed", "again"],
    ["probed", "probe"],
    ["unsafe", "ask"],
  ] as const)("%s: %s", (effect, then) => {
    expect(afterCrash(open(effect), true)).toBe(then);
  });

  test.each([...EFFECTS, null])("%s: without its tool nobody can repeat it", (effect) => {
    expect(afterCrash(open(effect), false)).toBe("ask");
  });

  test("without an intent nobody knows what it would repeat", () => {
    expect(afterCrash(open(null), true)).toBe("ask");
  });
});

describe("after a silence", () => {
  test.each([
    ["none", ["again", "again", "tell"]],
    ["keyed", ["again", "again", "tell"]],
    ["probed", ["probe", "probe", "ask"]],
    ["unsafe", ["ask", "ask", "ask"]],
  ] as const)("%s: %s", (effect, each) => {
    const tries = Array.from({ length: BOUNDS.callTriesMax }, (_, index) => index);
    expect(tries.map((count) => afterSilence(open(effect, count)))).toEqual(each);
  });

  test("no try more than the bound, even if the count says so", () => {
    expect(afterSilence(open("keyed", 9))).toBe("tell");
  });

  test("without an intent the strictest row holds", () => {
    expect(afterSilence(open(null))).toBe("ask");
  });
});

test("the table has one row per effect, in words", () => {
  expect(Object.entries(RESUME).map(([effect, row]) => [effect, row.effect])).toEqual(
    EFFECTS.map((each) => [each, each]),
  );
  expect(RESUME.keyed.inWords).toContain("same key");
  expect(RESUME.unsafe.inWords).toContain("never runs again by itself");
});
