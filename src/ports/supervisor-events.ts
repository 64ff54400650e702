/** The events that a supervisor reports to the code that started it. */
import type { Route, ChainState } from "../protocol/chain.ts";
import type { ChangedIntrinsic } from "../core/changed-intrinsic.ts";
import type { FiringOutcome } from "../protocol/firing.ts";
import type { ClockDoubt } from "../protocol/steadiness.ts";

/** One event. Texts in it are for humans and hold no secrets. */
export type SupervisorEvent =
  | { readonly kind: "workerSpawned"; readonly pid: number }
  | { readonly kind: "workerGone"; readonly pid: number; readonly how: string }
  /** A child process of a dead supervisor was still alive; it is killed before anything is driven. */
  | { readonly kind: "orphanKilled"; readonly pid: number }
  | ({ readonly kind: "attemptStarted" } & Attempted)
  /** `route`: where the beat leads; null for other tasks. */
  | ({ readonly kind: "attemptAnswered"; readonly route: Route | null } & Attempted)
  | ({ readonly kind: "attemptFailed" } & Attempted & Failed)
  /** The state of a run's chain now, and when it goes on: epoch milliseconds, null once the chain has ended. */
  | {
      readonly kind: "moved";
      readonly execution: string;
      readonly run: string;
      readonly state: ChainState;
      readonly readyAt: number | null;
    }
  | ({ readonly kind: "sweepFailed" } & Failed)
  /** What a removed run left behind is gone. Or a part of the objects was searched for orphans; then `run` is null. */
  | ({ readonly kind: "upkeepDone" } & Kept)
  | ({ readonly kind: "upkeepFailed" } & Kept & Failed)
  | ({ readonly kind: "fired"; readonly outcome: FiringOutcome } & Fired)
  | ({ readonly kind: "firingFailed" } & Fired & Failed)
  /** The store takes no writes for now. The supervisor retries. */
  | { readonly kind: "waitingForStore"; readonly why: string; readonly retryInMs: number }
  | { readonly kind: "storeIsBack" }
  /** The machine has no room for another worker for now. The supervisor retries, and counts no death. */
  | { readonly kind: "waitingForMachine"; readonly why: string; readonly retryInMs: number }
  | { readonly kind: "machineIsBack" }
  /** PID 1 reaps no orphans: what tools leave behind uses up the process IDs. `mend`: what to write. */
  | { readonly kind: "orphansStay"; readonly what: string; readonly why: string; readonly mend: string }
  /** Nothing is sent to this endpoint: what signs its requests is missing. `mend`: what to type. */
  | { readonly kind: "webhookUnsigned"; readonly to: string; readonly why: string; readonly mend: string }
  /** A program that runs beats itself takes no further one (`BeatsEnded`). `mend`: what to do. */
  | { readonly kind: "beatsEnded"; readonly run: string | null; readonly what: string; readonly mend: string }
  /** The wall clock jumped, or this machine was off for long. */
  | { readonly kind: "clockDoubted"; readonly doubt: ClockDoubt }
  | { readonly kind: "clockBelieved" };

/** One attempt, described for humans. */
export interface Attempted {
  readonly execution: string;
  readonly run: string;
  readonly state: ChainState;
  readonly retry: number;
  readonly pid: number;
}

interface Failed {
  /** What ended the process, or why the supervisor ended it. */
  readonly how: string;
  /** What the task threw, if the process could report it. */
  readonly error: TaskError | null;
}

interface Kept {
  readonly task: "cleanUp" | "orphans";
  readonly run: string | null;
}

/**
 * What a task threw. `code` is the stable code of an error that has one: `StoreUnreachable` means that the store
 * failed.
 */
export interface TaskError {
  readonly name: string;
  readonly code: string | null;
  readonly message: string;
  /** The run of the task changed a function of the language in its process. */
  readonly changed?: ChangedIntrinsic;
}

/** A firing, described for humans. */
export interface Fired {
  readonly agent: string;
  /** The time for which it was scheduled, epoch milliseconds. */
  readonly at: number;
}
