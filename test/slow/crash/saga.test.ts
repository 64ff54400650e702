/**
 * The scene of sagas: once for every fault at every call, and frozen at every point, what the run did is undone newest
 * first, each effect once and after it can have landed; then it begins again under other keys, or is cancelled.
 */
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { verify } from "../../../src/history/verify.ts";
import { everyFault, everyZombie, wrongWith } from "./enumerate.ts";
import { play } from "./play.ts";
import { ENUMERATION } from "../../support/patience.ts";

test("the scene meets what it is meant to meet", ENUMERATION, async () => {
  const calm = await play({ saga: "fails" });
  expect(wrongWith(calm, calm)).toEqual([]);
  expect(calm).toMatchObject({ told: ["completed"], code: null });
  expect(calm.deeds.map(({ what }) => what)).toEqual([
    ...["keyed", "probed", "unsafe", "undo of unsafe", "undo of probed", "undo of keyed"],
    ...["keyed", "probed"],
  ]);
  expect(new Set(calm.deeds.map(({ key }) => key)).size).toBe(8);
  expect(await verify(calm.world, { run: calm.run })).toMatchObject({ findings: [] });
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  expect(rules).toEqual([
    ...["outcome stays unknown, everything is undone", "effects are undone"],
    ...["newest effect first", "newest effect first", "newest effect first", "begins again"],
  ]);
});

test(
  "no single fault at any call changes what is undone, in which order, or what comes of the run",
  ENUMERATION,
  async () => {
    const { found, reached, histories } = await everyFault({ saga: "fails" });
    expect(found).toEqual([]);
    expect(histories).toBeGreaterThan(200);
    for (const kind of ["crash before", "crash after"]) {
      for (const name of ["keyed", "probed", "unsafe"]) expect(reached).toContain(`undo.${name} ${kind}`);
    }
  },
);

test("nor does a zombie that comes back at any moment", ENUMERATION, async () => {
  const { found, histories } = await everyZombie({ saga: "fails", stride: 13 });
  expect(found).toEqual([]);
  expect(histories).toBeGreaterThan(100);
});

test("a run that is cancelled in the middle of a deed leaves nothing behind, whatever fails", ENUMERATION, async () => {
  const calm = await play({ saga: "cancelled" });
  expect(wrongWith(calm, calm)).toEqual([]);
  expect(calm).toMatchObject({ told: ["cancelled"], steered: [{ what: "undo", outcome: "accepted" }] });
  expect(calm.deeds.map(({ what }) => what)).toEqual([
    ...["keyed", "probed", "unsafe", "undo of unsafe", "undo of probed", "undo of keyed"],
  ]);
  const { found, reached } = await everyFault({ saga: "cancelled" });
  expect(found).toEqual([]);
  expect(reached).toContain("table.request crash before");
});

test("without its rule it finds a violation: a keyed undo remembers keys", ENUMERATION, async () => {
  const { found } = await everyFault({ saga: "fails", forgetsKeys: true, stopAtFirst: true });
  expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+" --saga fails$/);
  expect(found[0]?.violations.some((each) => /^(keyedOnce|undo)/.test(each))).toBe(true);
});
