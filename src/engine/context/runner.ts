/** What one process needs to run beats: a world, agents, and what it remembers from beat to beat. */
import type { Agent } from "../../ports/agent.ts";
import type { Model } from "../../ports/model.ts";
import type { World } from "../../ports/world.ts";
import type { CommitCache } from "../../history/commits.ts";
import type { SegmentCache } from "../../history/load.ts";

export interface Runner {
  readonly world: World;
  /** The agent of that name and its model, or why there is none. Loaded on first use. */
  readonly agentOf: (name: string) => Promise<LoadedAgent | AgentAbsent>;
  readonly segments: SegmentCache;
  readonly commits: CommitCache;
  /** What this process knows (`core/levels.ts`); what this code knows unless told. */
  readonly level?: number;
}

/** It cannot be loaded: what is deployed does not have it, or its file is broken. */
export interface AgentAbsent {
  readonly kind: "absent";
  readonly why: string;
}

export interface LoadedAgent {
  readonly kind: "agent";
  readonly agent: Agent;
  readonly model: Model;
  /** Of the fallbacks that the agent declares, in their order. */
  readonly fallbacks?: readonly Model[];
}
