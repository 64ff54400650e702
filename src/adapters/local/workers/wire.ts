/**
 * The messages between a supervisor and its worker processes, as JSON over their IPC channel. Tools run in the worker's
 * process and may find the channel. So each answer repeats a secret that only the task message holds, and the
 * supervisor ignores every other message.
 */
import type { TaskError } from "../../../ports/supervisor-events.ts";
import type { Task, TaskResult } from "../../../protocol/chain.ts";

export type ToChild =
  | { readonly kind: "task"; readonly secret: string; readonly task: Task; readonly deadline: number }
  /** The process will be killed soon: commit and end. */
  | { readonly kind: "drain" };

export type FromChild =
  /** Its module is loaded. The time of a task does not begin before this message. */
  | { readonly kind: "ready" }
  | ({ readonly kind: "answered"; readonly result: TaskResult } & Ended)
  | ({ readonly kind: "failed"; readonly error: TaskError } & Ended);

interface Ended {
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
  const isOurs = kind === "ready" || ((kind === "answered" || kind === "failed") && "secret" in message);
  return isOurs ? (message as FromChild) : null;
}
