/**
 * The messages between a supervisor and its worker processes, as JSON over their IPC channel. Tools run in the worker's
 * process and may find the channel. So each answer repeats a secret that only the task message holds, and the
 * supervisor ignores every other message.
 */
import type { TaskError } from "../ports/supervisor-events.ts";
import type { Task, TaskResult } from "../protocol/chain.ts";

/** A task, and whether the process may go on by itself with the beats that follow. */
export interface TaskToWorker {
  readonly task: Task;
  /** The attempt of the execution that the task is; null: the process answers after this task. */
  readonly attempt: number | null;
  /** How many beats may act in the process at the same time, besides those that wait for their model. */
  readonly places: number;
}

export type ToChild =
  | ({ readonly kind: "task"; readonly secret: string; readonly deadline: number } & TaskToWorker)
  /** Other tasks wait: answer the tasks that the process has now instead of going on with them. */
  | { readonly kind: "return" }
  /** The process will be killed soon: commit and end. */
  | { readonly kind: "drain" };

export type FromChild =
  /** Its module is loaded. The time of a task does not begin before this message. */
  | { readonly kind: "ready" }
  /** The task begins or ends to wait for its model, so the process has room for another one, or not. */
  | ({ readonly kind: "waits"; readonly isWaiting: boolean } & FromTask)
  /** The run goes on with its next beat, which has until `deadline`. The beat begins after this message. */
  | { readonly kind: "goesOn"; readonly secret: string; readonly deadline: number }
  /** All calls of the task have returned, and only its commit waits for the store, which another process holds. */
  | { readonly kind: "holdsOn"; readonly secret: string; readonly why: string }
  | LoadedCode
  | ({ readonly kind: "answered"; readonly result: TaskResult } & FromTask)
  /** `isOver`: a store did not answer, and nothing of the task may still act, so its process goes on with the others. */
  | ({ readonly kind: "failed"; readonly error: TaskError; readonly isOver?: boolean } & FromTask);

/**
 * The process has loaded the code of its agent, and a digest of it; null: it could not be loaded. It comes before any
 * function of that code runs.
 */
export interface LoadedCode {
  readonly kind: "loaded";
  readonly agent: string | null;
  readonly code: string | null;
}

interface FromTask {
  readonly secret: string;
  /** The process uses more than half of the memory that it may use. */
  readonly isHeavy: boolean;
}

/**
 * What the allocator of the GNU C library gets from the environment of a worker; others ignore it. A buffer of a megabyte
 * goes back to the system when it is free (ADR 0165).
 */
export const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: "1048576" } as const;

const OF_TASK: ReadonlySet<string> = new Set(["goesOn", "waits", "holdsOn", "answered", "failed"]);

/** How long a task may go on for its commit from the last time that its process said so. */
export const HOLD_ON_MS = 10_000;

/**
 * How close to its deadline a task has to be for that: longer than the pauses between two attempts to commit. A task that
 * held on begins nothing more, however much of its own time is left.
 */
export const HOLD_FROM_MS = 4_000;

/**
 * The message, or null if `serveTasks` sends no such message. The secret vouches for the rest, so only the shape is
 * checked.
 */
export function heardFrom(message: unknown): FromChild | null {
  if (typeof message !== "object" || message === null || !("kind" in message)) return null;
  const { kind } = message;
  const isOfTask = typeof kind === "string" && OF_TASK.has(kind);
  const isOurs = kind === "ready" || kind === "loaded" || (isOfTask && "secret" in message);
  return isOurs ? (message as FromChild) : null;
}
