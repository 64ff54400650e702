/** Starts that limits of their tenant count. */
import { type Started, startRun } from "../../../src/operations/start.ts";
import { countedBy } from "../../../src/features/spend-caps/counters.ts";
import type { Agent } from "../../../src/ports/agent.ts";
import type { World } from "../../../src/ports/world.ts";
import type { SpendLimits } from "../../../src/protocol/spend-counter.ts";
import { scriptedAgent } from "../harness/harness.ts";

export const CENT = 10_000;

/** An agent whose runs may spend that much; null: any amount. */
export const budgetedAgent = (microUsd: number | null): Agent => {
  const agent = scriptedAgent({});
  return { ...agent, budget: { ...agent.budget, microUsd } };
};

/** Starts a run of the tenant `local` under these limits. */
export const startCounted = (
  world: World,
  limits: SpendLimits,
  of: { readonly key: string; readonly microUsd?: number | null },
): Promise<Started> =>
  startRun(world, {
    ...{ agent: budgetedAgent(of.microUsd === undefined ? CENT : of.microUsd), input: {}, tenant: "local" },
    ...{ idempotencyKey: of.key, counted: countedBy("local", limits) },
  });
