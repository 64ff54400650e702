/** The plan of a history: which faults meet which of its points, and which scenario it is. */
import type { MemoryWorld } from "../../../src/adapters/memory/world.ts";
import type { FaultKind } from "./actor.ts";
import type { SummariserScene } from "./summary-scenario.ts";
import type { RecoveryScene } from "./topology-scenario.ts";

export interface Fault {
  /** The point that it meets. */
  readonly at: number;
  readonly kind: FaultKind;
}

/** The invocation that reaches point `at` freezes there and is presumed dead; it thaws when others passed `others`. */
export interface Zombie {
  readonly at: number;
  readonly others: number;
}

/** What does not answer the processes of a scenario, from the moment that they reach point `at`. */
export interface Outage {
  readonly at: number;
  readonly store: (typeof OUTAGE_STORES)[number];
  readonly kind: (typeof OUTAGE_KINDS)[number];
}

/**
 * Requests are lost, or they arrive and are applied and their answers are lost. `silence`: requests are lost too, but
 * their senders hear of no failure.
 */
export const OUTAGE_KINDS = ["requests", "answers", "silence"] as const;
export const OUTAGE_STORES = ["table", "objects", "everything"] as const;

/** For so long, by the clock of the scenario. */
export const OUTAGE_MS = 3_600_000;

export interface Plan {
  readonly outage?: Outage;
  readonly faults?: readonly Fault[];
  readonly zombie?: Zombie;
  /** Breaks a rule of the world, for those who want to see a violation. */
  readonly bend?: (world: MemoryWorld) => MemoryWorld;
  readonly forgetsKeys?: boolean;
  /** Other scenes: the run goes in circles and has to stop; its context gets too long. */
  readonly stops?: boolean;
  readonly compacts?: boolean;
  /** A model of its own summarises the run's context: one of two scenes. */
  readonly summariser?: SummariserScene;
  /** The dial is on, in invocations of so many beats. */
  readonly dialled?: number;
  /** The run undoes what it did: since it fails, or since somebody cancels it and wants that. */
  readonly saga?: "fails" | "cancelled";
  /** The run recovers in its topology: one of five scenes. */
  readonly recovers?: RecoveryScene;
  /** Its calls wait for an answer, events and a time. */
  readonly waits?: boolean;
  /** A run that waits for longer has no execution, and a sweeper comes. */
  readonly sleeps?: boolean;
  /** Each process keeps the progress of the topology in memory, for those who want to see a violation. */
  readonly forgets?: boolean;
}

export interface Point {
  readonly name: string;
  readonly byProcess: boolean;
}
