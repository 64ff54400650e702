/** One history under way: what everybody in it shares. */
import type { VirtualClock } from "../../src/adapters/memory/clock.ts";
import type { MemoryWorld } from "../../src/adapters/memory/world.ts";
import type { Clock } from "../../src/ports/world.ts";
import type { Actor } from "./actor.ts";
import type { SeededChoices } from "./seeded-choices.ts";
import type { WallClock } from "./clock-jumps.ts";
import type { FeatureLog } from "./features/log.ts";
import type { UnaskedLeft } from "./features/people.ts";
import type { Plan } from "./modes.ts";
import type { GateDecision } from "./gate-decisions.ts";
import type { SimulatedAgents } from "./simulated-agents.ts";
import type { OperatorRequest, ReconcileAttempt } from "./operators.ts";
import type { Placed, Recorder } from "./record.ts";

/** Somebody who waits to be let go on. */
export interface ScheduledStep {
  readonly owner: Actor;
  readonly go: () => void;
}

/** A write whose sender has no answer, and which lands by itself. */
export interface InFlightWrite {
  /** Not before this step. */
  readonly due: number;
  readonly land: () => Promise<void>;
}

/** Which ports answer nothing. */
export const STORES = ["table", "objects", "chain", "everything"] as const;

/** Stores are away for every process and person, for so many calls and until then. */
export interface Outage {
  readonly store: (typeof STORES)[number];
  /** `unheard`: requests arrive and are applied, and their answers are lost. */
  readonly flavour: "unavailable" | "throttled" | "unheard";
  readonly until: number;
  callsLeft: number;
}

export interface Sim {
  readonly plan: Plan;
  /** The true time, which nobody in the history knows. */
  readonly clock: VirtualClock;
  readonly world: MemoryWorld;
  /** How far the chain's own clock is off. */
  readonly chainOffsetMs: number;
  readonly chances: {
    readonly [
      C in "scheduler" | "network" | "people" | "clocks" | "jumps" | "doom" | "levels" | "features"
    ]: SeededChoices;
  };
  readonly record: Recorder;
  readonly outside: SimulatedAgents;
  readonly turns: ScheduledStep[];
  /** Everybody who is alive. */
  readonly actors: Set<Actor>;
  readonly flights: InFlightWrite[];
  /** Objects whose bytes come back wrong, and how often they still will. */
  readonly damaged: Map<string, { readonly how: "damaged" | "missing"; left: number }>;
  readonly answers: Placed<ReconcileAttempt>[];
  readonly decisions: GateDecision[];
  readonly steered: OperatorRequest[];
  readonly features: FeatureLog;
  outage: Outage | null;
  /** Faults that somebody met so far. */
  spent: number;
  /** Tasks that were sent so far, and actors that were born. */
  tasks: number;
  born: number;
  /** People who are doing something, and those of them who come because they are needed. */
  atWork: number;
  attending: number;
  stormsLeft: number;
  readonly unasked: UnaskedLeft;
  redrivesLeft: number;
  isRedriving: boolean;
  /** The version of the agent that a task begins with from now on. */
  deployed: number;
  readonly wall: WallClock;
  /** By the true time. */
  nextSweep: number;
}

/** From here on nothing more is done to the run. Once it is calm it stays so. */
export const isCalm = ({ plan, record, spent }: Sim): boolean =>
  plan.oneIn === 0 || record.step >= plan.stopAt || spent >= plan.most;

/** A clock that is off by a constant. */
export const withClockOffset = (clock: Clock, offsetMs: number): Clock => ({
  now: () => clock.now() + offsetMs,
  earliest: () => clock.earliest() + offsetMs,
  after: (delayMs, call) => clock.after(delayMs, call),
});

/** Half of the skew to either side, so that two clocks differ by less than the whole. */
export function drawClockOffset({ plan: { mode }, chances: { clocks } }: Pick<Sim, "plan" | "chances">): number {
  const offset = clocks.below(mode.skewMs) - Math.floor(mode.skewMs / 2);
  // Where the margin is to be broken, it is broken by most pairs.
  return mode.mayDouble && clocks.oneIn(2) ? Math.sign(offset) * Math.floor(mode.skewMs / 2) : offset;
}

/** Counts a fault, for the plan and for the reach table. */
export function recordFault(sim: Sim, what: string): void {
  sim.spent += 1;
  sim.record.reached.add(what);
}
