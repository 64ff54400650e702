/** What a supervisor tells whoever runs it. */
import type { Route, ChainState } from "../protocol/chain.ts";
import type { FiringOutcome } from "../protocol/firing.ts";
import type { ClockDoubt } from "../protocol/steadiness.ts";

export type SupervisorEvent =
  | { readonly kind: "workerSpawned"; readonly pid: number }
  | { readonly kind: "workerGone"; readonly pid: number; readonly how: string }
  /** A child of a dead supervisor is still alive, and is killed before anything is driven. */
  | { readonly kind: "orphanKilled"; readonly pid: number }
  | ({ readonly kind: "attemptStarted" } & Attempted)
  /** `route`: where a beat leads; null for other tasks. */
  | ({ readonly kind: "attemptAnswered"; readonly route: Route | null } & Attempted)
  | ({ readonly kind: "attemptFailed" } & Attempted & Failed)
  /** Where the chain of a run is now, and when it goes on: epoch milliseconds, null once it has ended. */
  | {
      readonly kind: "moved";
      readonly execution: string;
      readonly run: string;
      readonly state: ChainState;
      readonly readyAt: number | null;
    }
  | ({ readonly kind: "sweepFailed" } & Failed)
  /** What a removed run left behind is gone, or a part of the objects was looked through; `run` is null then. */
  | ({ readonly kind: "upkeepDone" } & Kept)
  | ({ readonly kind: "upkeepFailed" } & Kept & Failed)
  | ({ readonly kind: "fired"; readonly outcome: FiringOutcome } & Fired)
  | ({ readonly kind: "firingFailed" } & Fired & Failed)
  /** The store, or the system that starts processes, takes no more for now. It is tried again. */
  | { readonly kind: "waitingForStore"; readonly why: string; readonly retryInMs: number }
  | { readonly kind: "storeIsBack" }
  /** The wall clock jumped, or this machine was off for long. */
  | { readonly kind: "clockDoubted"; readonly doubt: ClockDoubt }
  | { readonly kind: "clockBelieved" };

/** One attempt, for people. */
export interface Attempted {
  readonly execution: string;
  readonly run: string;
  readonly state: ChainState;
  readonly retry: number;
  readonly pid: number;
}

interface Failed {
  /** What ended the process, or why it was ended. */
  readonly how: string;
  /** What the task threw, if it could say. */
  readonly error: TaskError | null;
}

interface Kept {
  readonly task: "cleanUp" | "orphans";
  readonly run: string | null;
}

/** What a task threw. `code` is stable where the error has one: `StoreUnreachable` is the store's doing. */
export interface TaskError {
  readonly name: string;
  readonly code: string | null;
  readonly message: string;
}

/** A firing, for people. */
export interface Fired {
  readonly agent: string;
  /** The time that it was scheduled for. */
  readonly at: number;
}
