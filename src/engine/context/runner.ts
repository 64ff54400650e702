/** What one process needs to run beats: a world, its agents, and caches that live from beat to beat. */
import type { Agent } from "../../ports/agent.ts";
import type { Model } from "../../ports/model.ts";
import type { World } from "../../ports/world.ts";
import type { CommitCache } from "../../history/commits.ts";
import type { SegmentCache } from "../../history/load.ts";

/** The world, agents and caches of one process. */
export interface Runner {
  readonly world: World;
  /** Returns the agent of that name with its model, or why it cannot be loaded. An agent is loaded on first use. */
  readonly agentOf: (name: string) => Promise<LoadedAgent | AgentAbsent>;
  readonly segments: SegmentCache;
  readonly commits: CommitCache;
  /** The feature level of this process (`core/levels.ts`). The default is the level of this code. */
  readonly level?: number;
}

/** The agent cannot be loaded: the deployment does not contain it, or its file is broken. */
export interface AgentAbsent {
  readonly kind: "absent";
  readonly why: string;
  /** An agent of that name is there, or may be, and cannot be loaded now. Absent: there is none. */
  readonly isBroken?: true;
  /** Its file or one of its servers gave no answer in the time that the beat had left. A whole beat may suffice. */
  readonly isLate?: true;
}

/** An agent with its models, ready to run. */
export interface LoadedAgent {
  readonly kind: "agent";
  readonly agent: Agent;
  readonly model: Model;
  /** The models of the fallbacks that the agent declares, in the declared order. */
  readonly fallbacks?: readonly Model[];
  /** The models that the agent declares for roles of its topology, by name. */
  readonly named?: Readonly<Record<string, Model>>;
}
