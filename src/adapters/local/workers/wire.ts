/**
 * The messages between a supervisor and its worker processes, as JSON over their IPC channel. Tools run in the worker's
 * process and may find the channel. So each answer repeats a secret that only the task message holds, and the
 * supervisor ignores every other message.
 */
import type { TaskError } from "../../../ports/supervisor-events.ts";
import type { Task, TaskResult } from "../../../protocol/chain.ts";

/** A task, and whether the process may go on by itself with the beats that follow. */
export interface Assigned {
  readonly task: Task;
  /** The attempt of the execution that the task is; null: the process answers after this task. */
  readonly attempt: number | null;
  /** How many beats may act in the process at the same time, besides those that wait for their model. */
  readonly places: number;
}

export type ToChild =
  | ({ readonly kind: "task"; readonly secret: string; readonly deadline: number } & Assigned)
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
  | ({ readonly kind: "answered"; readonly result: TaskResult } & FromTask)
  | ({ readonly kind: "failed"; readonly error: TaskError } & FromTask);

interface FromTask {
  readonly secret: string;
  /** The process uses more than half of the memory that it may use. */
  readonly isHeavy: boolean;
}

/**
 * The message, or null if `serveTasks` sends no such message. The secret vouches for the rest, so only the shape is
 * checked.
 */
export function heardFrom(message: unknown): FromChild | null {
  if (typeof message !== "object" || message === null || !("kind" in message)) return null;
  const { kind } = message;
  const isOfTask = kind === "goesOn" || kind === "waits" || kind === "answered" || kind === "failed";
  const isOurs = kind === "ready" || (isOfTask && "secret" in message);
  return isOurs ? (message as FromChild) : null;
}
