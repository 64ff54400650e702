/** Retries under one idempotency key, and the complete removal of a run. */
import type { Agent } from "../../src/ports/agent.ts";
import type { Incarnation } from "../../src/protocol/row.ts";
import type { World } from "../../src/ports/world.ts";
import { type Started, startRun } from "../../src/operations/start.ts";
import { cleanRemoved } from "./drive.ts";
import { upkeep } from "./remains.ts";
import { type Stage, rowOf } from "./stage.ts";

export const retry = (world: World, agent: Agent, parent?: Incarnation): Promise<Started> =>
  startRun(world, {
    ...{ agent, input: {}, tenant: "local", idempotencyKey: "order-42" },
    ...(parent === undefined ? {} : { parent }),
  });

export async function first(world: World, agent: Agent, parent?: Incarnation): Promise<Incarnation> {
  const started = await retry(world, agent, parent);
  if (started.kind !== "started") throw new Error(`it was not started: ${started.kind}`);
  return started.row;
}

/** Lets the retention pass; the store removes the row, and the clean-up removes the run's other data. */
export async function goes(on: Stage, { run }: Incarnation): Promise<void> {
  on.clock.moveTo((rowOf(on, run).expiresAtSec ?? 0) * 1_000);
  on.world.store.expire(on.clock.now());
  await cleanRemoved(on.world, upkeep(on.world));
}
