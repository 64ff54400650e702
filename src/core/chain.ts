/**
 * The chain: which state follows which, and what a failed attempt leads to. One definition; the embedded chain runs
 * it, and the Step Functions definition is generated from it.
 */
import type { Entry } from "./row.ts";

/** What a chain carries from state to state; never the state of the run. */
export interface Payload {
  readonly run: string;
  readonly born: string;
  readonly chain: number;
  /** The epoch that the previous beat left. */
  readonly epoch: number;
}

/** Where the chain goes after a beat. A closed set. */
export type Route = "beat" | "wait" | "park" | "done" | "failed" | "superseded";

/** What a beat answers: the next payload, the route, and how long to wait or park (whole seconds, at least 1). */
export interface Reply extends Payload {
  readonly route: Route;
  readonly seconds: number;
}

/** One attempt, as the chain's context tells it; the retry count is read anew at each attempt. */
export type Attempt = Entry;

export type ChainState = "Beat" | "Wait" | "Park" | "Backoff" | "Rescue" | "End";

/** Where each route leads. */
export const AFTER_BEAT: { readonly [R in Route]: ChainState } = {
  beat: "Beat",
  wait: "Wait",
  park: "Park",
  done: "End",
  failed: "End",
  superseded: "End",
};

/** Attempts of a beat after the first; then the run is handed over. A retry takes over at once. */
export const RETRY_DELAYS_MS: readonly number[] = [0, 1_000, 2_000, 4_000];
