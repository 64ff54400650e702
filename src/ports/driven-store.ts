/**
 * What a supervisor needs of the store whose runs it drives with processes of its machine. A world without a service that
 * drives its runs gives one. Each function opens its part, and all parts throw the errors of the store.
 */
import type { Payload, Reply } from "../protocol/chain.ts";
import type { AttemptFailure, Execution } from "../protocol/execution.ts";
import type { TenantShares } from "../protocol/fair-share.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { ClockDoubt } from "../protocol/steadiness.ts";
import type { LostLines } from "./supervision.ts";
import type { Clock } from "./world.ts";

export interface DrivenStore {
  /** The clock that all processes of the store share. */
  clock(): StoreClock;
  executions(): Executions;
  /** The worker processes of the supervisor, recorded before they do anything. */
  children(): Children;
  removals(): Removals;
  orphanSearch(): OrphanSearch;
  /** `keep` stores soon what was proven. */
  provenCode(keep: (write: () => void) => void): ProvenCode;
  /** Makes this process the supervisor. Throws `StoreSupervised` if a live process, this one included, is the supervisor. */
  takeSupervision(claim: { readonly self: ProcessIdentity; readonly now: number }): void;
  releaseSupervision(self: ProcessIdentity): void;
  /** Returns a function that stores what of its output that process lost, if that has grown. It does not throw. */
  lostOutputKeeper(writer: ProcessIdentity): (lost: LostLines | null) => void;
  /**
   * Checks the file of a large store beside all other work: now, if that is due, and from then on daily. Returns how to stop
   * it. `onDamaged` is called once at most, with the error of a damaged store.
   */
  checkInBackground(check: {
    readonly clock: Pick<Clock, "now" | "after">;
    readonly onDamaged: (damage: Error) => void;
  }): () => void;
  /**
   * Calls back when a file of the store may have changed, perhaps once too often. Returns how to stop that; null if the system
   * cannot say so.
   */
  watch(onChange: () => void): (() => void) | null;
  /** From now on no access blocks this process for long. */
  waitShortly(): void;
}

export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; the same for one process, and different for any other process with its pid. */
  readonly startedAt: string;
}

/** The stored worker processes of a store. */
export interface Children {
  readonly all: () => readonly ProcessIdentity[];
  readonly add: (child: ProcessIdentity) => void;
  readonly remove: (child: ProcessIdentity) => void;
}

export interface StoreClock extends Clock {
  /** Milliseconds since the machine started, also while it slept. No user or program can set it. */
  uptime(): number;
  /** Stores what the clocks show, for every process of the store. Only the supervisor calls it. */
  follow(): void;
  /** Why the wall clock is not believed, or null. */
  doubt(): ClockDoubt | null;
}

/** The executions of the embedded chain. Each change is one transaction. */
export interface Executions {
  /** The execution that was started under that name before, or null if this call started it. */
  start(execution: { readonly name: string; readonly payload: Payload; readonly now: number }): Execution | null;
  /** False: no execution waits on that token any more. */
  wake(token: string, now: number): boolean;
  /**
   * The executions that are ready, `max` at most, shared among the tenants (`protocol/fair-share.ts`). Beats of the agents
   * `without` are left out, so that those that wait for a place hold up no other agent.
   */
  ready(now: number, max: number, without?: readonly string[], shares?: TenantShares): readonly Ready[];
  /** When the next execution is ready, epoch milliseconds; null: none is to be. */
  nextReadyAt(): number | null;
  /** Stores that its next attempt is out; null if the execution is not ready after all. */
  begin(name: string, now: number): Execution | null;
  /** Applies the outcome of its attempt; null if that attempt is no longer the one that is out. */
  settle(attempted: Execution, step: (execution: Execution) => Execution): Execution | null;
  /**
   * Moves an execution on to its next beat, in the process that had the one before; null if that attempt is no longer
   * the one that is out, or if the reply leads elsewhere.
   */
  goOn(answer: { readonly execution: string; readonly attempt: number; readonly reply: Reply }): Execution | null;
  /** Performs several begins or settlements as one transaction. */
  together<T>(access: () => T): T;
  /**
   * Counts the attempts that were out when the last supervisor died as dead. Their retries, and all that paused, are
   * due at once.
   */
  recover(terms: Pick<AttemptFailure, "now" | "limits">): void;
}

/** An execution whose next attempt may be sent. */
export interface Ready {
  readonly name: string;
  readonly tenant: string;
  /** The agent of its run; null if the payload is damaged. */
  readonly agent: string | null;
  /**
   * How often the same attempt failed before. If it ended with its supervisor last, that is no failure of it: the beats of
   * all runs ended then.
   */
  readonly failures: number;
  /** It is a beat, and no other task of its execution. */
  readonly isBeat: boolean;
}

/** Expired rows, tombstones, records and deltas, and the clean-ups of removed incarnations. Times are epoch milliseconds. */
export interface Removals {
  /** Removes expired rows, tombstones, records and deltas, at most `limit` of each; true if there may be more. */
  expire(now: number, limit: number): boolean;
  /** Removes expired archives, as the lifecycle rule of a bucket does. It reports nothing. */
  expireArchives(now: number): void;
  /** The incarnations that have been due for longest, `limit` at most. */
  due(now: number, limit: number): readonly Incarnation[];
  /** Delays a clean-up that failed until that time. */
  postpone(incarnation: Incarnation, until: number): void;
  /**
   * Deletes the entries and the executions of these incarnations, once all else is gone, in one transaction. Their runs are
   * gone too, so a live execution has nothing to drive, and the answer of its attempt changes nothing.
   */
  finish(removed: readonly Incarnation[]): void;
}

/** When the next search for orphans is due, and from which key on. */
export interface OrphanPlan {
  readonly dueAt: number;
  readonly after: string | null;
}

/** The plan is in the store: the next supervisor goes on where a dead one stopped, and not before it is due. */
export interface OrphanSearch {
  /** Null: no search was planned yet. */
  readonly read: () => OrphanPlan | null;
  readonly write: (plan: OrphanPlan) => void;
}

/** Which code of an agent has completed a beat on this machine. Neither function throws. */
export interface ProvenCode {
  readonly has: (agent: string, code: string) => boolean;
  readonly add: (agent: string, code: string) => void;
}
