/**
 * The chain: which state follows which, and what a failed attempt leads to. One definition; the embedded chain runs
 * it, and the Step Functions definition is generated from it.
 */
import type { FiringOutcome } from "./firing.ts";
import type { Entry } from "./entry.ts";

/** What a chain carries from state to state; never the state of the run. */
export interface Payload {
  readonly run: string;
  readonly born: string;
  readonly chain: number;
  /** The epoch that the previous beat left. */
  readonly epoch: number;
  /** Whose code runs the beats; empty in executions that began before a payload named it. */
  readonly agent: string;
}

/** Where the chain goes after a beat. A closed set. */
export type Route = "beat" | "wait" | "park" | "renew" | "done" | "failed" | "superseded";

/** What a beat answers: the next payload, the route, and how long to wait or park (whole seconds, at least 1). */
export interface Reply extends Payload {
  readonly route: Route;
  readonly seconds: number;
  /** This process is too old for the run: the next beat is for whichever version is deployed by then. */
  readonly behind?: true;
}

/** One attempt of an entry, as the chain's context tells it; the retry number is read anew at each attempt. */
export interface Attempt extends Entry {
  /**
   * The retry of this entry whose process is *known* to have died (an exit, a timeout, an error that no store caused), or
   * null. A store that did not answer, a throttle and a lost connection are no evidence of a death. Absent in executions
   * that began before it was told.
   */
  readonly died?: number | null;
  /** How that process ended, for people; absent where the chain did not see it. */
  readonly cause?: string;
}

export type ChainState = "Beat" | "Wait" | "Park" | "Renew" | "Backoff" | "Rescue" | "End";

/** Where each route leads. */
export const AFTER_BEAT: { readonly [R in Route]: ChainState } = {
  beat: "Beat",
  wait: "Wait",
  park: "Park",
  renew: "Renew",
  done: "End",
  failed: "End",
  superseded: "End",
};

/** Attempts of a task after the first, for every task but a beat; then Rescue looks after the run. */
export const RETRY_DELAYS_MS: readonly number[] = [0, 1_000, 2_000, 4_000];

/** Before the attempt that follows so many failures of one entry: at once, then 1, 2, 4 seconds and so on. */
export const beatDelayMs = (failures: number, msMax: number): number =>
  failures <= 1 ? 0 : Math.min(msMax, 1_000 * 2 ** (failures - 2));

/**
 * What a chain asks an invocation to do, and what it hears back. Each task runs in one process from start to end and is
 * killed at its deadline; a task without an answer is tried again.
 */
export type Task =
  | { readonly kind: "beat"; readonly payload: Payload; readonly attempt: Attempt }
  /** Store the token that the execution now waits on, or wake it at once. */
  | { readonly kind: "park"; readonly payload: Payload; readonly attempt: Attempt; readonly token: string }
  /** Start the execution that the run has moved to. */
  | { readonly kind: "renew"; readonly payload: Payload }
  /**
   * Hand over a run whose entry failed too often. `dead`: the attempt whose process is known to have died, or null; `cause`:
   * how that process ended, for people.
   */
  | { readonly kind: "rescue"; readonly payload: Payload; readonly dead?: Entry | null; readonly cause?: string }
  /** Look for runs that nobody drives. */
  | { readonly kind: "sweep" }
  /** The row of that incarnation was removed: delete what it leaves behind. */
  | { readonly kind: "cleanUp"; readonly run: string; readonly born: string }
  /** Look for objects that no row ever named or names any more, from that key on; null is from the first. */
  | { readonly kind: "orphans"; readonly after: string | null }
  /** The schedule of that agent fires, for that time; `watched` as in `firing.ts`. */
  | {
      readonly kind: "firing";
      readonly agent: string;
      readonly tenant: string;
      readonly at: number;
      readonly watched: boolean;
    };

export type TaskResult =
  | { readonly kind: "beat"; readonly reply: Reply }
  | { readonly kind: "park" }
  | { readonly kind: "renew" }
  /** `until`: the run is held by an owner whose lease ends then; null: it has a successor. */
  | { readonly kind: "rescue"; readonly until: number | null }
  | { readonly kind: "sweep" }
  | { readonly kind: "cleanUp" }
  /** `next`: from where to go on, or null where everything was looked at. */
  | { readonly kind: "orphans"; readonly next: string | null }
  | { readonly kind: "firing"; readonly outcome: FiringOutcome }
  /**
   * Something of this process outlived its time: it must end before it does anything else. Where a process can answer
   * and end, the chain goes on from the reply; elsewhere the retry of the entry finds the commit and goes on.
   */
  | { readonly kind: "exit"; readonly reply: Reply };
