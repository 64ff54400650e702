/** What survives when the supervisor, or the whole host, is killed while many runs are in flight. */
import { expect, test } from "vitest";
import { createProcessHarness } from "../../support/processes/supervisor-process.ts";
import * as host from "./host.ts";
import * as storms from "./storm.ts";

// Nothing here waits for a lease: a beat may take as long as a busy machine needs.
const CALM = { CAIRN_BEAT_SECONDS: "60" };

test("all of 200 runs complete once although their supervisor is killed ten times", { timeout: 300_000 }, async () => {
  const storm = await storms.storm(createProcessHarness(CALM), { seed: "1", runs: 200, kills: 10 });
  console.log(storms.inWords(storm));
  expect(storm.wrong).toEqual([]);
  expect(storm.kills).toHaveLength(10);
  expect(Math.min(...storm.kills.map(({ open }) => open))).toBeGreaterThan(0);
  expect(storm.effects).toBe(400);
  // Some of the kills found a beat in flight, and what it had asked for was at most asked for once more.
  expect(storm.takeovers).toBeGreaterThan(0);
  expect(storm.requests).toBeLessThanOrEqual(400 + storm.takeovers);
  expect(storm.atWork).toBeGreaterThan(1);
  expect(storm.left).toBe(0);
});

test(
  "each of four runs makes its next beat within a minute of the return of its killed host",
  { timeout: 300_000 },
  async () => {
    const returned = await host.hostReturns(createProcessHarness(CALM));
    console.log(host.inWords(returned));
    expect(returned.killed).toBe(5);
    expect(returned.nextBeats).toHaveLength(4);
    expect(Math.max(...returned.nextBeats.map(({ seconds }) => seconds))).toBeLessThan(host.RETURN_SECONDS_MAX);
    expect(returned.wrong).toEqual([]);
  },
);
