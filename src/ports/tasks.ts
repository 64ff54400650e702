/**
 * What a chain asks an invocation to do, and what it hears back. Each task runs in one process from start to end and
 * is killed at its deadline; a task without an answer is tried again.
 */
import type { Attempt, Payload, Reply } from "../core/chain.ts";

export type Task =
  | { readonly kind: "beat"; readonly payload: Payload; readonly attempt: Attempt }
  /** Store the token that the execution now waits on, or wake it at once. */
  | { readonly kind: "park"; readonly payload: Payload; readonly attempt: Attempt; readonly token: string }
  /** Hand over a run whose beats died too often. */
  | { readonly kind: "rescue"; readonly payload: Payload }
  /** Look for runs that nobody drives. */
  | { readonly kind: "sweep" };

export type TaskResult =
  | { readonly kind: "beat"; readonly reply: Reply }
  | { readonly kind: "park" }
  /** `until`: the run is held by an owner whose lease ends then; null: it has a successor. */
  | { readonly kind: "rescue"; readonly until: number | null }
  | { readonly kind: "sweep" }
  /** Something of this process outlived its time: it must end before it does anything else. */
  | { readonly kind: "exit" };

/** What an invocation knows of its own end. */
export interface Invocation {
  /** When it is killed, epoch milliseconds. */
  readonly deadline: number;
  /** Fires when the process is asked to come to an end: stop waiting, commit, release. */
  readonly drain: AbortSignal;
}

export type RunTask = (task: Task, invocation: Invocation) => Promise<TaskResult>;
