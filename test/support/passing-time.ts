/** Hours of a run on a stage: runs all work that becomes due in that time. */
import type { Agent } from "../../src/ports/agent.ts";
import type { Stage } from "./stage.ts";
import { step } from "./steps.ts";

/** Returns the number of tasks; the clock is then at the end of that time. */
export async function playFor(on: Stage, agent: Agent, ms: number): Promise<number> {
  const until = on.clock.now() + ms;
  let steps = 0;
  for (let next = on.world.chain.next(); next !== null && next <= until; next = on.world.chain.next()) {
    await step(on, agent);
    steps += 1;
  }
  on.clock.moveTo(Math.max(until, on.clock.now()));
  return steps;
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
