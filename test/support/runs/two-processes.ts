/** Two processes that drive the same run in turn. */
import { EACH_BEAT, type StoredSizes } from "../../../src/ports/stored-sizes.ts";
import { runnerOf } from "../harness/drive.ts";
import { type Harness, callsThenFinal, createHarness } from "../harness/harness.ts";
import { longRunAgent, recordObjectCalls } from "./long-runs.ts";

/** Two processes over one store, and the object keys that the first one reads. */
export function twoProcesses(replies: number, sizes: StoredSizes = EACH_BEAT) {
  const made = createHarness();
  const harness: Harness = { ...made, world: { ...made.world, sizes } };
  const agent = longRunAgent({ reply: callsThenFinal(replies) });
  const { world, gets } = recordObjectCalls(harness.world);
  return { harness, agent, gets, one: runnerOf(world, agent), other: runnerOf(harness.world, agent) };
}
