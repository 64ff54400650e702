/**
 * The scenario of sagas: once for every fault at every call, and frozen at every point, what the run did is undone newest
 * first, each effect once and after it can have landed; then it begins again under other keys, or is cancelled.
 */
import { expect, test } from "vitest";
import { timeline } from "../../../src/operations/views.ts";
import { verify } from "../../../src/features/seals/verify.ts";
import { assertNoViolations } from "../../support/gate/safety.ts";
import { everyFault, everyZombie, inWords, wrongWith } from "./enumerate.ts";
import { playScene } from "./play.ts";
import { FROZEN_POINTS, STRIDE } from "../../support/gate/stride.ts";
import { ENUMERATION_TIMEOUT } from "../../support/harness/timeouts.ts";

test("the scenario reaches its intended situations", ENUMERATION_TIMEOUT, async () => {
  const calm = await playScene({ saga: "fails" });
  assertNoViolations(wrongWith(calm, calm));
  expect(calm).toMatchObject({ told: ["completed"], code: null });
  expect(calm.effects.map(({ what }) => what)).toEqual([
    ...["keyed", "probed", "unsafe", "undo of unsafe", "undo of probed", "undo of keyed"],
    ...["keyed", "probed"],
  ]);
  expect(new Set(calm.effects.map(({ key }) => key)).size).toBe(8);
  expect(await verify(calm.world, { run: calm.run })).toMatchObject({ findings: [] });
  const events = (await timeline(calm.world, { run: calm.run, after: 0 })) ?? [];
  const rules = events.flatMap((event) => (event.kind === "RecoveryDecided" ? [event.rule] : []));
  expect(rules).toEqual([
    ...["outcome stays unknown, everything is undone", "effects are undone"],
    ...["newest effect first", "newest effect first", "newest effect first", "begins again"],
  ]);
});

test(
  "no single fault at any call changes what is undone, in which order, or the outcome of the run",
  ENUMERATION_TIMEOUT,
  async () => {
    const { found, reached, histories } = await everyFault({ saga: "fails", stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(histories).toBeGreaterThan(200 / STRIDE);
    for (const kind of ["crash before", "crash after"]) {
      for (const name of ["keyed", "probed", "unsafe"]) expect(reached).toContain(`undo.${name} ${kind}`);
    }
  },
);

test("no zombie that returns at any moment does so either", ENUMERATION_TIMEOUT, async () => {
  const { found, histories } = await everyZombie({ saga: "fails", stride: 13 * STRIDE, points: FROZEN_POINTS });
  assertNoViolations(inWords(found));
  expect(histories).toBeGreaterThan(100 / STRIDE);
});

test(
  "a run that is cancelled during an effect leaves nothing in place, whatever fails",
  ENUMERATION_TIMEOUT,
  async () => {
    const calm = await playScene({ saga: "cancelled" });
    assertNoViolations(wrongWith(calm, calm));
    expect(calm).toMatchObject({ told: ["cancelled"], steered: [{ what: "undo", outcome: "accepted" }] });
    expect(calm.effects.map(({ what }) => what)).toEqual([
      ...["keyed", "probed", "unsafe", "undo of unsafe", "undo of probed", "undo of keyed"],
    ]);
    const { found, reached } = await everyFault({ saga: "cancelled", stride: STRIDE });
    assertNoViolations(inWords(found));
    expect(reached).toContain("table.request crash before");
  },
);

test("without its rule it finds a violation: a keyed undo remembers keys", ENUMERATION_TIMEOUT, async () => {
  const { found } = await everyFault({ saga: "fails", forgetsKeys: true, stopAtFirst: true });
  expect(found[0]?.again).toMatch(/^npm run crash -- --fault "\d+ [a-z ]+" --saga fails$/);
  expect(found[0]?.violations.some((each) => /^(keyedOnce|undo)/.test(each))).toBe(true);
});
