/**
 * The third scenario: a run whose context gets too long. Once for every fault at every call, and frozen at every point, it ends
 * as it should, what it did is done once, and every summary that was paid for is kept or counted as lost.
 */
import { describe, expect, test } from "vitest";
import { eventsOfKind } from "../../simulation/replay.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { commitWithoutMark } from "./broken-worlds.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { SUMMARISERS } from "./summary-scenario.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene({ compacts: true });
  assertNoViolations(wrongWith(calm, calm));
  expect(calm).toMatchObject({ told: ["completed"], result: "all is read", summaries: 1 });
  expect(calm.effects.map(({ what }) => what)).toEqual(["b", "g"]);
  expect(eventsOfKind(calm, "Compacted")).toMatchObject([{ replaced: { from: "m2", to: "m5" } }]);
});

test(
  "no single fault at any call breaks a guarantee, changes the outcome of the run, or leaves a summary uncounted",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found, reached, histories } = await everyFault({ compacts: true, stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(80 / STRIDE);
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`model.summary ${kind}`);
  },
);

test("no zombie that returns at any moment does so either", ENUMERATION_TIMEOUT, async () => {
  const { found, histories } = await everyZombie({ compacts: true, stride: 13 * STRIDE, points: FROZEN_POINTS });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
});

test(
  "without its rule it finds a violation: a commit before a model call leaves a mark",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found } = await everyFault({ compacts: true, bend: commitWithoutMark, stopAtFirst: true });
    expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+" --compacts$/);
    expect(found[0]?.violations).toEqual([expect.stringMatching(/^summaries: 2 were asked for, 1 kept and 0 lost$/)]);
  },
);

describe.each(SUMMARISERS)("a run with a model for its summaries that %s", (summariser) => {
  test("reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
    const calm = await playScene({ summariser });
    assertNoViolations(wrongWith(calm, calm));
    expect(calm).toMatchObject({ told: ["completed"], result: "all is read", summaries: 2, replies: 7, accounted: 7 });
    expect(calm.effects.map(({ what }) => what)).toEqual(["B", "G", "K"]);
    const writers = eventsOfKind(calm, "Compacted").map(({ model }) => model);
    expect(writers).toEqual(["scripted:cheap", summariser === "answers" ? "scripted:cheap" : "scripted:script"]);
  });

  test(
    "is broken by no single fault at any call, and each summary is kept, or debited at its estimate",
    ENUMERATION_TIMEOUT,
    async () => {
      const { found, reached, histories } = await everyFault({ summariser, stride: STRIDE });
      assertNoViolations(inWords(found));
      expect(histories).toBeGreaterThan(200 / STRIDE);
      for (const kind of ["crash before", "crash after", "unavailable"])
        expect(reached).toContain(`model.cheap ${kind}`);
    },
  );

  test("is broken by no zombie that returns at any moment", ENUMERATION_TIMEOUT, async () => {
    const { found, histories } = await everyZombie({ summariser, stride: 29 * STRIDE, points: FROZEN_POINTS });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
  });
});

test("without its rule it finds a violation of the debits, too", ENUMERATION_TIMEOUT, async () => {
  const { found } = await everyFault({ summariser: "answers", bend: commitWithoutMark, stopAtFirst: true });
  expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+" --summariser answers$/);
  expect(found[0]?.violations).toContainEqual(expect.stringMatching(/^debits: \d+ calls were paid for/));
});
