/**
 * The chain as data: which state follows which, and where a failed attempt leads. It is defined once, so that all
 * worlds agree: the embedded chain runs it, and the Step Functions definition is generated from it.
 */
import type { ChangedIntrinsic } from "../core/changed-intrinsic.ts";
import type { FiringOutcome } from "./firing.ts";
import type { Entry } from "./entry.ts";
import type { Incarnation } from "./row.ts";

/** What a chain carries from state to state. It never holds the state of the run. */
export interface Payload {
  readonly run: string;
  readonly born: string;
  readonly chain: number;
  /** The epoch that the previous beat left. */
  readonly epoch: number;
  /** Whose code runs the beats; empty in executions that began before a payload named it. */
  readonly agent: string;
}

/** Where the chain goes after a beat. The set is closed. `asleep`: a wake-up starts the next execution of the run. */
export type Route = "beat" | "wait" | "park" | "renew" | "asleep" | "done" | "failed" | "superseded";

/** What a beat returns: the next payload, the route, and how long to wait or park (whole seconds, at least 1). */
export interface Reply extends Payload {
  readonly route: Route;
  readonly seconds: number;
  /** This process is too old for the run. The next beat belongs to the version that is deployed by then. */
  readonly behind?: true;
}

/** One attempt of an entry, built from the chain's context. The retry number is read again at each attempt. */
export interface Attempt extends Entry {
  /**
   * The retry of this entry whose process is *known* to have died (an exit, a timeout, an error that no store caused),
   * or null. A store that did not answer, a throttle and a lost connection are no evidence of a death.
   * Absent is null.
   */
  readonly died?: number | null;
  /** How that process ended, as text for humans; absent where the chain did not see it. */
  readonly cause?: string;
  /** Code of the run changed a function of the language, so its process was ended. Absent is null. */
  readonly changed?: ChangedIntrinsic | null;
}

/** The states of a chain, the same in every world. */
export type ChainState = "Beat" | "Wait" | "Park" | "Renew" | "Backoff" | "Rescue" | "End";

/** Where each route leads. */
export const AFTER_BEAT: { readonly [R in Route]: ChainState } = {
  beat: "Beat",
  wait: "Wait",
  park: "Park",
  renew: "Renew",
  asleep: "End",
  done: "End",
  failed: "End",
  superseded: "End",
};

/**
 * Delays before the retries of every task but a beat, in milliseconds. After the last retry, Rescue hands the run over.
 */
export const RETRY_DELAYS_MS: readonly number[] = [0, 1_000, 2_000, 4_000];

/**
 * Milliseconds to wait before the next attempt of an entry after `failures` failures: 0 first, then 1, 2, 4 seconds and
 * so on.
 */
export const beatDelayMs = (failures: number, msMax: number): number =>
  failures <= 1 ? 0 : Math.min(msMax, 1_000 * 2 ** (failures - 2));

/**
 * What a chain asks an invocation to do, and what it gets back. Each task runs in one process from start to end, and
 * that process is killed at the task's deadline. The chain retries a task that returns nothing.
 */
export type Task =
  | { readonly kind: "beat"; readonly payload: Payload; readonly attempt: Attempt }
  /** Store the token on which the execution now waits, or wake it at once. */
  | { readonly kind: "park"; readonly payload: Payload; readonly attempt: Attempt; readonly token: string }
  /** Start the execution to which the run has moved. */
  | { readonly kind: "renew"; readonly payload: Payload }
  /**
   * Hand over a run whose entry failed too often. `dead` is the attempt whose process is known to have died, or null.
   * `cause` says how that process ended, as text for humans.
   */
  | { readonly kind: "rescue"; readonly payload: Payload; readonly dead?: Entry | null; readonly cause?: string }
  /** Find the runs that no execution drives, and recover them. */
  | { readonly kind: "sweep" }
  /** The rows of these incarnations were removed: delete what they left behind. */
  | { readonly kind: "cleanUp"; readonly removed: readonly Incarnation[] }
  /** Find objects that no row names, from the key `after` on; null starts at the first key. */
  | { readonly kind: "orphans"; readonly after: string | null }
  /** The schedule of that agent fires for the time `at`; `watched` as in `firing.ts`. */
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
  /** `until`: an owner whose lease ends then holds the run; null: the run has a successor. */
  | { readonly kind: "rescue"; readonly until: number | null }
  /** `judged`: how many runs; absent where another process sweeps. */
  | { readonly kind: "sweep"; readonly judged?: number }
  /** What the first `done` of them left behind is gone. */
  | { readonly kind: "cleanUp"; readonly done: number }
  /** `next`: the key at which the next search goes on, or null after the last key. */
  | { readonly kind: "orphans"; readonly next: string | null }
  | { readonly kind: "firing"; readonly outcome: FiringOutcome }
  /**
   * Something in this process outlived its timeout, so the process must end before it does anything else. A process
   * that can return a reply before it ends lets the chain go on from `reply`. Otherwise the retry of the entry finds
   * the commit and goes on.
   */
  | { readonly kind: "exit"; readonly reply: Reply };
