/** What survives when the supervisor, or the whole host, is killed while many runs are in flight. */
import { expect, test } from "vitest";
import { seedFor } from "../../support/gate/draws.ts";
import { LIMITS } from "../../support/gate/limits.ts";
import { MissingEvent, assertNoViolations, assertSafety, requireEvent } from "../../support/gate/safety.ts";
import { sampled } from "../../support/gate/stride.ts";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import * as host from "./host.ts";
import * as storms from "./storm.ts";

// Nothing here waits for a lease: a beat may take as long as a loaded machine needs.
const CALM = { CAIRN_BEAT_SECONDS: String(LIMITS.longBeatMs / 1_000) };
const SCENE = { timeout: 2 * LIMITS.sceneMs };

const [RUNS, KILLS] = sampled([60, 3], [200, 10]);
/** Each run has two steps with an effect. */
const EFFECTS = 2 * RUNS;

test(`all of ${RUNS} runs complete once although their supervisor is killed ${KILLS} times`, SCENE, async () => {
  const storm = await storms.storm(createProcessHarness(CALM), { seed: seedFor("storm"), runs: RUNS, kills: KILLS });
  console.log(storms.inWords(storm));
  assertNoViolations(storm.wrong);
  expect(storm.kills).toHaveLength(KILLS);
  // That runs are open at each kill is arranged, and no claim: on a slow machine the last one may come after them all.
  if (storm.kills.some(({ open }) => open === 0)) throw new MissingEvent("a kill found no open run");
  assertSafety("each step has one effect", () => expect(storm.effects).toBe(EFFECTS));
  // The first kill found a beat in flight, and what it had asked for was at most asked for once more.
  requireEvent("the first kill met a beat", storm.takeovers > 0);
  assertSafety("a call is repeated only after a death", () =>
    expect(storm.requests).toBeLessThanOrEqual(EFFECTS + storm.takeovers),
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
