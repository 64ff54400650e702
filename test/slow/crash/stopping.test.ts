/**
 * The other scene: a run goes in circles and has to stop. Once for every fault at every call, and frozen at every point, it
 * ends as it should, what it did is done once, and its last words are asked for at most once.
 */
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { everyFault, everyZombie, wrongWith } from "./enumerate.ts";
import { play } from "./play.ts";
import { ENUMERATION } from "../../support/patience.ts";

test("the scene meets what it is meant to meet", ENUMERATION, async () => {
  const calm = await play({ stops: true });
  expect(wrongWith(calm, calm)).toEqual([]);
  expect(calm).toMatchObject({ told: ["failed"], code: "Runaway", closings: 1 });
  expect(calm.deeds).toMatchObject([{ tool: "keyed", what: "b" }]);
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  const ends = events.flatMap((event) => (event.kind === "RunEnded" ? [event] : []));
  expect(ends).toMatchObject([
    { failure: { message: expect.stringContaining("Its last words: b is done, a is not") } },
  ]);
});

test(
  "no single fault at any call breaks a guarantee, changes what it ends with, or asks for last words twice",
  ENUMERATION,
  async () => {
    const { found, reached, histories } = await everyFault({ stops: true });
    expect(found).toEqual([]);
    expect(histories).toBeGreaterThan(80);
    for (const kind of ["crash before", "crash after"]) expect(reached).toContain(`model.closing ${kind}`);
  },
);

test("nor does a zombie that comes back at any moment", ENUMERATION, async () => {
  const { found, histories } = await everyZombie({ stops: true, stride: 13 });
  expect(found).toEqual([]);
  expect(histories).toBeGreaterThan(30);
});
