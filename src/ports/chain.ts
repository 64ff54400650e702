/**
 * Chain: drives a run from beat to beat. The contract:
 *
 * - An execution name is started once, ever. `exists` says whether that execution is still going. A repeated start with
 *   the same payload while it is going may also return `started`, since that makes no difference to the caller.
 * - Each attempt of a beat gets its payload and its entry (execution, epoch of the payload, retry number). The chain
 *   retries a beat that dies as the same entry with a higher retry number, at once and a bounded number of times. Then
 *   it hands the run over. So some execution always drives the run.
 * - A parked execution goes on to its beat when its token is woken or its time is up.
 */
import type { Payload } from "../protocol/chain.ts";

/** The outcome of a start. */
export type StartOutcome = { readonly kind: "started" } | { readonly kind: "exists"; readonly running: boolean };

export interface Chain {
  start(execution: string, payload: Payload): Promise<StartOutcome>;
  /** Wakes the execution that waits on that token. `awake`: no execution waits on it any more. */
  wake(token: string): Promise<{ readonly kind: "woken" } | { readonly kind: "awake" }>;
}
