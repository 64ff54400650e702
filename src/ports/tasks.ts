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
  /**
   * Called again and again while nothing but a commit is left, and another process holds the store. The invocation may
   * outlive its deadline for that commit (schedule 236). True: its deadline was moved for that, so it begins nothing more.
   * Absent: it ends at its deadline.
   */
  readonly holdOn?: (why: string) => boolean;
  /**
   * Called when the beat begins to wait for its model, if its process then gives its place to another beat. The returned
   * function resolves when the beat may go on, after that many milliseconds at the latest.
   */
  readonly stepAside?: () => (ms: number) => Promise<void>;
}

/** Runs one task. */
export type RunTask = (task: Task, invocation: Invocation) => Promise<TaskResult>;
