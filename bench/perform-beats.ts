/** Performs the beats of a run in this process, one after the other, without a chain. */
import { beat } from "../src/engine/loop/beat.ts";
import { CommitCache } from "../src/history/commits.ts";
import { SegmentCache } from "../src/history/load.ts";
import type { Runner } from "../src/engine/context/runner.ts";
import type { Route } from "../src/protocol/chain.ts";
import { executionName } from "../src/protocol/ids.ts";
import type { Row } from "../src/protocol/row.ts";
import type { World } from "../src/ports/world.ts";
import { modelsOf } from "../src/providers/model.ts";
import type { Agent } from "../src/ports/agent.ts";

/** A process that has performed no beat yet. */
export const newRunner = (world: World, agent: Agent): Runner => ({
  ...{ world, agentOf: async () => ({ kind: "agent", agent, ...modelsOf(agent) }) },
  ...{ segments: new SegmentCache(), commits: new CommitCache() },
});

/**
 * Yields the route of each invocation, over all executions of the run, until one neither goes on nor hands over to the
 * next execution. `runnerOf` gives the process of the next invocation. Throws if a beat asks to end its process.
 */
export async function* performBeats({ run, born, agent }: Row, runnerOf: () => Runner): AsyncGenerator<Route> {
  let payload = { run, born, chain: 1, epoch: 0, agent };
  for (let route: Route = "beat"; route === "beat" || route === "renew";) {
    const runner = runnerOf();
    const execution = executionName(run, born, payload.chain);
    const attempt = { execution, epoch: payload.epoch, retry: 0, died: null };
    const deadline = Date.now() + runner.world.limits.beatMs;
    const { kind, reply } = await beat(runner, { payload, attempt }, { deadline, drain: new AbortController().signal });
    if (kind !== "beat") throw new Error("the beat asked to end its process");
    payload = reply;
    ({ route } = reply);
    yield route;
  }
}
