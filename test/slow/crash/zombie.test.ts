/**
 * Zombie enumeration: an invocation freezes at any of its calls and is presumed dead; others go on for any number of
 * calls; it thaws and does what it was about to do. A crash test with one process never finds a fencing bug; this does.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../../support/gate/safety.ts";
import * as bends from "./broken-worlds.ts";
import { everyZombie, inWords } from "./enumerate.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

/** One in twenty-three of them, in seconds; `npm run crash` plays every one. */
const ZOMBIE_STRIDE = 23;

test(
  "no invocation that returns at any moment breaks a guarantee or changes the outcome of the run",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found, histories } = await everyZombie({ stride: ZOMBIE_STRIDE * STRIDE, points: FROZEN_POINTS });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(200 / STRIDE);
  },
);

// `from`: where the violation was found last. A change of the scene may move it.
test.each([
  {
    rule: "a commit names its epoch",
    bend: bends.commitWithoutEpoch,
    ...{ violation: /^(ends|oneEnd|versionsRise|late)/, from: 47 },
  },
  {
    rule: "a claim raises effectsSettleAt",
    bend: bends.claimWithoutEffectsSettled,
    ...{ violation: /^(keyedOnce|unsafeOnce)/, from: 12 },
  },
  {
    rule: "park is fenced by its retry",
    bend: bends.parkWithoutFence,
    ...{ violation: /^(ends|late|nothingFalls)/, from: 23 },
  },
])("without its rule it finds a violation: $rule", ENUMERATION_TIMEOUT, async ({ bend, violation, from }) => {
  const { found } = await everyZombie({ bend, stopAtFirst: true, stride: ZOMBIE_STRIDE, from });
  expect(found[0]?.again).toMatch(/^npm run crash -- --zombie "\d+ \d+"$/);
  expect(found[0]?.violations.some((each) => violation.test(each))).toBe(true);
});
