/** Retries under one idempotency key, and the complete removal of a run. */
import type { Agent } from "../../../src/ports/agent.ts";
import type { Incarnation } from "../../../src/protocol/row.ts";
import type { World } from "../../../src/ports/world.ts";
import { type Started, startRun } from "../../../src/operations/start.ts";
import { cleanUpRemovedRuns } from "../harness/drive.ts";
import { performMaintenance } from "./leftover-objects.ts";
import type { Harness } from "../harness/harness.ts";

export const retryStart = (world: World, agent: Agent, parent?: Incarnation): Promise<Started> =>
  startRun(world, {
    ...{ agent, input: {}, tenant: "local", idempotencyKey: "order-42" },
    ...(parent === undefined ? {} : { parent }),
  });

export async function startFirst(world: World, agent: Agent, parent?: Incarnation): Promise<Incarnation> {
  const started = await retryStart(world, agent, parent);
  if (started.kind !== "started") throw new Error(`it was not started: ${started.kind}`);
  return started.row;
}

/** Lets the retention pass; the store removes the row, and the clean-up removes the run's other data. */
export async function removeRun(harness: Harness, { run }: Incarnation): Promise<void> {
  harness.clock.moveTo((harness.row(run).expiresAtSec ?? 0) * 1_000);
  harness.world.store.expire(harness.clock.now());
  await cleanUpRemovedRuns(harness.world, performMaintenance(harness.world));
}
