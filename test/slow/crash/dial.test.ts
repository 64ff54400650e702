/**
 * The scenario of the dial: most replies ask for nothing that acts outside, and are not committed before that has run. Once
 * for every fault at every call, and frozen at every point, the run does the same and comes to the same, and knows of
 * every reply that was paid for: as its own, or as lost.
 */
import { expect, test } from "vitest";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

/** In this world each commit of a row is a point; how many of them a run without faults makes. */
const commitsOf = async (plan: Parameters<typeof playScene>[0]): Promise<number> =>
  (await playScene(plan)).points.filter(({ name }) => name === "table.commit").length;

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene({ dialled: 1 });
  assertNoViolations(wrongWith(calm, calm));
  expect(calm).toMatchObject({ told: ["completed"], result: "over", replies: 4, accounted: 4 });
  expect(calm.effects).toMatchObject([{ tool: "keyed", what: "c" }]);
  // One for each beat, one more for the call that acts outside.
  expect(await commitsOf({ dialled: 1 })).toBe(5);
  // Of several beats a time each reply is committed before the next one is asked for.
  expect(await commitsOf({ dialled: 3 })).toBe(4);
});

test.each([1, 3])(
  "no single fault at any call loses a reply, or changes the outcome of the run; %i a time",
  ENUMERATION_TIMEOUT,
  async (dialled) => {
    const { found, reached, histories } = await everyFault({ dialled, stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(90 / STRIDE);
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`tool.look ${kind}`);
  },
);

test.each([1, 3])(
  "no zombie that returns at any moment does so either; %i a time",
  ENUMERATION_TIMEOUT,
  async (dialled) => {
    const { found, histories } = await everyZombie({ dialled, stride: 7 * STRIDE, points: FROZEN_POINTS });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
  },
);
