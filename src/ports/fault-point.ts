/**
 * Fault points: the moments of the protocol at which a crash shows whether it holds. A worker gets them through
 * `FaultInjection` alone. `cairn work` composes `NO_FAULTS`; `cairn chaos` and the tests compose their own, each in a
 * worker entry of its own, so that no production process loads code that holds or kills one.
 */
import type { Agent } from "./agent.ts";
import type { Model } from "./model.ts";
import type { World } from "./world.ts";

export const FAULT_POINTS = ["claim", "intent", "effect", "undo", "put", "release"] as const;

export interface FaultPoint {
  readonly when: "before" | "after";
  /** The claim; commit A; a tool's run; the undo of one; the snapshot's PUT; the commit that releases. */
  readonly name: (typeof FAULT_POINTS)[number];
  /** Which one: the tool of an effect or undo, the epoch that a claim follows, the version that a put or commit makes. */
  readonly at: string;
}

/** Called at each fault point. It decides whether the process goes on: it may return, never return, or kill the process. */
export type OnFaultPoint = (point: FaultPoint) => Promise<void>;

/** An agent and the models that answer for it. */
export interface AgentParts {
  readonly agent: Agent;
  readonly model: Model;
  readonly fallbacks: readonly Model[];
}

/** What is put around the stores of a process and around each agent that it loads. */
export interface Faults {
  readonly world: (world: World) => World;
  readonly agent: (parts: AgentParts) => AgentParts;
}

/** Once for each process. `runInHand`: the run whose beat the process is doing; empty while it does none. */
export type FaultInjection = (process: { readonly runInHand: () => string }) => Faults;

export const NO_FAULTS: FaultInjection = () => ({ world: (world) => world, agent: (parts) => parts });
