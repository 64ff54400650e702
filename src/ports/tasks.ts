/** One invocation, as whoever runs a chain calls it. */
import type { Task, TaskResult } from "../protocol/chain.ts";

/** What an invocation knows of its own end. */
export interface Invocation {
  /** When it is killed, epoch milliseconds. */
  readonly deadline: number;
  /** Fires when the process is asked to come to an end: stop waiting, commit, release. */
  readonly drain: AbortSignal;
  /** Called where something of the task may still act when it throws: the process ends with it (schedule 78). */
  readonly mustEnd?: () => void;
}

export type RunTask = (task: Task, invocation: Invocation) => Promise<TaskResult>;
