/**
 * The other scenario: a run goes in circles and has to stop. Once for every fault at every call, and frozen at every point, it
 * ends as it should, what it did is done once, and its last words are asked for at most once.
 */
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene({ stops: true });
  assertNoViolations(wrongWith(calm, calm));
  expect(calm).toMatchObject({ told: ["failed"], code: "Runaway", closings: 1 });
  expect(calm.effects).toMatchObject([{ tool: "keyed", what: "b" }]);
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  const ends = events.flatMap((event) => (event.kind === "RunEnded" ? [event] : []));
  expect(ends).toMatchObject([
    { failure: { message: expect.stringContaining("Its last words: b is done, a is not") } },
  ]);
});

test(
  "no single fault at any call breaks a guarantee, changes the end, or makes two closing calls",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found, reached, histories } = await everyFault({ stops: true, stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(80 / STRIDE);
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`model.closing ${kind}`);
  },
);

test("no zombie that returns at any moment does so either", ENUMERATION_TIMEOUT, async () => {
  const { found, histories } = await everyZombie({ stops: true, stride: 13 * STRIDE, points: FROZEN_POINTS });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(30 / FROZEN_POINTS);
});
