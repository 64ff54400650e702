/** What survives when the supervisor, or the whole host, is killed while many runs are in flight. */
import { expect, test } from "vitest";
import { seedFor } from "../../support/gate/draws.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { MissingEvent, assertNoViolations, assertSafety } from "../../support/gate/safety.ts";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import * as host from "./host.ts";
import * as storms from "./storm.ts";

// Nothing here waits for a lease: a beat may take as long as a loaded machine needs.
const CALM = { CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) };
const SCENE = { timeout: 2 * LIMITS.sceneMs };

test("all of 200 runs complete once although their supervisor is killed ten times", SCENE, async () => {
  const storm = await storms.storm(createProcessHarness(CALM), { seed: seedFor("storm"), runs: 200, kills: 10 });
  console.log(storms.inWords(storm));
  assertNoViolations(storm.wrong);
  expect(storm.kills).toHaveLength(10);
  // That runs are open at each kill is arranged, and no claim: on a slow machine the last one may come after them all.
  if (storm.kills.some(({ open }) => open === 0)) throw new MissingEvent("a kill found no open run");
  assertSafety("each step has one effect", () => expect(storm.effects).toBe(400));
  // Some of the kills found a beat in flight, and what it had asked for was at most asked for once more.
  expect(storm.takeovers).toBeGreaterThan(0);
  assertSafety("a call is repeated only after a death", () =>
    expect(storm.requests).toBeLessThanOrEqual(400 + storm.takeovers),
  );
  expect(storm.atWork).toBeGreaterThan(1);
  expect(storm.left).toBe(0);
});

test("each of four runs goes on and completes once after the return of its killed host", SCENE, async () => {
  const returned = await host.hostReturns(createProcessHarness(CALM));
  console.log(host.inWords(returned));
  assertNoViolations(returned.wrong);
  expect(returned.killed).toBe(5);
  expect(returned.nextBeats).toHaveLength(4);
});
