/** Retries under one idempotency key, and a run that goes with everything that it left behind. */
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

/** The retention passes, the store removes the row, and what the run left behind is cleaned up. */
export async function goes(on: Stage, { run }: Incarnation): Promise<void> {
  on.clock.moveTo((rowOf(on, run).expiresAtSec ?? 0) * 1_000);
  on.world.store.expire(on.clock.now());
  await cleanRemoved(on.world, upkeep(on.world));
}
