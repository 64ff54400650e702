/**
 * Fault points: the moments of the protocol at which a crash is most revealing. Tests and `cairn chaos` pause or kill a
 * process there.
 *
 * A worker gets them only through `FaultInjection`. `cairn work` passes `NO_FAULTS`. `cairn chaos` and the tests pass
 * their own from separate worker entry modules, so production processes never load code that pauses or kills a process.
 */
import type { Agent } from "./agent.ts";
import type { Model } from "./model.ts";
import type { World } from "./world.ts";

export const FAULT_POINTS = ["claim", "intent", "effect", "undo", "put", "release"] as const;

/** One fault point, before or after a step of the protocol. */
export interface FaultPoint {
  readonly when: "before" | "after";
  /**
   * The claim; the commit that records intents (commit A); a tool's run; the undo of a call; the snapshot's PUT; the
   * commit that releases the lease.
   */
  readonly name: (typeof FAULT_POINTS)[number];
  /**
   * Which one: the tool of an effect or undo, the epoch before a claim, or the version that a put or commit creates.
   */
  readonly at: string;
}

/**
 * Called at each fault point. It decides whether the process continues: it may return, never return, or kill the
 * process.
 */
export type OnFaultPoint = (point: FaultPoint) => Promise<void>;

/** An agent with its model and fallback models. */
export interface AgentParts {
  readonly agent: Agent;
  readonly model: Model;
  readonly fallbacks: readonly Model[];
  readonly named: Readonly<Record<string, Model>>;
}

/** Wrappers around the stores of a process, and around each agent that it loads. */
export interface Faults {
  readonly world: (world: World) => World;
  readonly agent: (parts: AgentParts) => AgentParts;
}

/** Called once for each process. `runInHand` returns the run whose beat the process executes; empty between beats. */
export type FaultInjection = (process: { readonly runInHand: () => string }) => Faults;

/** The fault injection of production: it wraps nothing. */
export const NO_FAULTS: FaultInjection = () => ({ world: (world) => world, agent: (parts) => parts });
