/**
 * Orchestrator: a boss hands out work to workers, reads their memos, and decides. Its typical failures are the lost
 * handoff, the silent worker and the death of the boss. Workers are child runs: each is dispatched exactly
 * once, and its report waits in the inbox of the boss. A failed hand-off is tried again by its child tool (`tries`).
 */
import { bossing } from "../boss/core.ts";
import { type BossOptions, type BossProgress, bossProblems } from "../boss/core-options.ts";
import type { TopologyModule } from "../../../core/topologies/topology.ts";

export interface OrchestratorOptions extends BossOptions {
  readonly kind: "orchestrator";
}

export const ORCHESTRATOR: TopologyModule<OrchestratorOptions, BossProgress> = {
  ...bossing<OrchestratorOptions>(),
  kind: "orchestrator",
  problems: bossProblems,
  misses: () => [],
};
