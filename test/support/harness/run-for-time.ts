/** Hours of a run in virtual time: runs all work that becomes due in that time. */
import type { Agents } from "./drive.ts";
import type { Harness } from "./harness.ts";

/** Returns the number of tasks; the clock is then at the end of that time. */
export async function runForTime(harness: Harness, agent: Agents, ms: number): Promise<number> {
  const until = harness.clock.now() + ms;
  let steps = 0;
  for (let next = harness.world.chain.next(); next !== null && next <= until; next = harness.world.chain.next()) {
    await harness.runAttempt(agent);
    steps += 1;
  }
  harness.clock.moveTo(Math.max(until, harness.clock.now()));
  return steps;
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
