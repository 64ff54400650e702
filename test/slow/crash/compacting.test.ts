/**
 * The third scene: a run whose context gets too long. Once for every fault at every call, and frozen at every point, it ends
 * as it should, what it did is done once, and every summary that was paid for is kept or counted as lost.
 */
import { expect, test } from "vitest";
import { eventsOfKind } from "../../simulation/replay.ts";
import { commitWithoutMark } from "./bends.ts";
import { everyFault, everyZombie, wrongWith } from "./enumerate.ts";
import { play } from "./play.ts";
import { ENUMERATION } from "../../support/patience.ts";

test("the scene meets what it is meant to meet", ENUMERATION, async () => {
  const calm = await play({ compacts: true });
  expect(wrongWith(calm, calm)).toEqual([]);
  expect(calm).toMatchObject({ told: ["completed"], result: "all is read", summaries: 1 });
  expect(calm.deeds.map(({ what }) => what)).toEqual(["b", "g"]);
  expect(eventsOfKind(calm, "Compacted")).toMatchObject([{ replaced: { from: "m2", to: "m5" } }]);
});

test(
  "no single fault at any call breaks a guarantee, changes what comes of the run, or leaves a summary uncounted",
  ENUMERATION,
  async () => {
    const { found, reached, histories } = await everyFault({ compacts: true });
    expect(found).toEqual([]);
    expect(histories).toBeGreaterThan(80);
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`model.summary ${kind}`);
  },
);

test("nor does a zombie that comes back at any moment", ENUMERATION, async () => {
  const { found, histories } = await everyZombie({ compacts: true, stride: 13 });
  expect(found).toEqual([]);
  expect(histories).toBeGreaterThan(30);
});

test(
  "without its rule it finds a violation: a commit after which somebody may ask leaves a mark",
  ENUMERATION,
  async () => {
    const { found } = await everyFault({ compacts: true, bend: commitWithoutMark, stopAtFirst: true });
    expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+" --compacts$/);
    expect(found[0]?.violations).toEqual([expect.stringMatching(/^summaries: 2 were asked for, 1 kept and 0 lost$/)]);
  },
);
