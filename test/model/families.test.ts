/**
 * The model of *fence* and *reopen* (`docs/contributing/families-model.md`): small families hold under every schedule,
 * and each rule that is switched off breaks one.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../support/gate/safety.ts";
import { explore } from "./families/explore.ts";
import { BOUNDED } from "./families/instances.ts";
import { MUTANTS } from "./families/mutants.ts";
import { PLANTED } from "./families/planted.ts";

/** Far above the largest family: an exploration that is cut off proves nothing. */
const STATES_MAX = 300_000;

test.each(Object.values(BOUNDED))("$name: no schedule violates an invariant", (family) => {
  const { found, isComplete, states } = explore(family, { statesMax: STATES_MAX });
  assertNoViolations(found === null ? [] : [found.invariant, found.why, ...found.steps]);
  expect(isComplete).toBe(true);
  expect(states).toBeGreaterThan(100);
});

test.each(MUTANTS)("finds the schedule that breaks the family: %s", (mutant) => {
  const { family, invariant } = PLANTED[mutant];
  const { found } = explore({ ...BOUNDED[family], without: mutant }, { statesMax: STATES_MAX });
  expect(found?.invariant).toBe(invariant);
  expect(found?.steps.length).toBeGreaterThan(2);
});

test("an exploration that is cut off says so, and judges no end", () => {
  const { isComplete, found } = explore(BOUNDED.keyed, { statesMax: 50 });
  expect({ isComplete, found }).toEqual({ isComplete: false, found: null });
});
