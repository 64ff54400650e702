/** One invocation, as a chain calls it. */
import type { Task, TaskResult } from "../protocol/chain.ts";

/** What an invocation knows about its own end. */
export interface Invocation {
  /** When it is killed, epoch milliseconds. */
  readonly deadline: number;
  /** Fires when the process is asked to end: stop waiting, commit, release. */
  readonly drain: AbortSignal;
  /** Called if the task throws while one of its calls may still act. The process must then end too (schedule 78). */
  readonly mustEnd?: () => void;
}

/** Runs one task. */
export type RunTask = (task: Task, invocation: Invocation) => Promise<TaskResult>;
