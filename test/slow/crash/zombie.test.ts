/**
 * Zombie enumeration: an invocation freezes at any of its calls and is presumed dead; others go on for any number of
 * calls; it thaws and does what it was about to do. A crash test with one process never finds a fencing bug; this does.
 */
import { expect, test } from "vitest";
import * as bends from "./bends.ts";
import { everyZombie } from "./enumerate.ts";
import { ENUMERATION } from "../../support/patience.ts";

/** One in twenty-three of them, in seconds; `npm run crash` plays every one. */
const STRIDE = 23;

test(
  "no invocation that comes back, at any moment, breaks a guarantee or changes what comes of the run",
  ENUMERATION,
  async () => {
    const { found, histories } = await everyZombie({ stride: STRIDE });
    expect(found).toEqual([]);
    expect(histories).toBeGreaterThan(200);
  },
);

test.each([
  { rule: "a commit names its epoch", bend: bends.commitWithoutEpoch, violation: /^(ends|oneEnd|versionsRise|late)/ },
  { rule: "a claim raises quiet", bend: bends.claimWithoutQuiet, violation: /^(keyedOnce|unsafeOnce)/ },
  { rule: "park is fenced by its retry", bend: bends.parkWithoutFence, violation: /^(ends|late|nothingFalls)/ },
])("without its rule it finds a violation: $rule", ENUMERATION, async ({ bend, violation }) => {
  const { found } = await everyZombie({ bend, stopAtFirst: true, stride: STRIDE });
  expect(found[0]?.again).toMatch(/^npm run crash -- --zombie "\d+ \d+"$/);
  expect(found[0]?.violations.some((each) => violation.test(each))).toBe(true);
});
