/**
 * Messages between a supervisor and its worker processes over their IPC channel, as JSON. Tools run in the worker's process and
 * may find the channel. So each answer repeats a secret that only the message of the task holds, and the supervisor ignores
 * every other message.
 */
import type { TaskError } from "../../ports/supervisor-events.ts";
import type { Task, TaskResult } from "../../protocol/chain.ts";

export type ToChild =
  | { readonly kind: "task"; readonly secret: string; readonly task: Task; readonly deadline: number }
  /** Come to an end with what you have: the process will be killed soon. */
  | { readonly kind: "drain" };

export type FromChild =
  /** Its module is loaded; the time of a task does not begin before. */
  | { readonly kind: "ready" }
  | { readonly kind: "answered"; readonly secret: string; readonly result: TaskResult }
  | { readonly kind: "failed"; readonly secret: string; readonly error: TaskError };

/** Null for a message that `serveTasks` does not send. The secret vouches for the rest, so only the shape is checked. */
export function heardFrom(message: unknown): FromChild | null {
  if (typeof message !== "object" || message === null || !("kind" in message)) return null;
  const { kind } = message;
  const isOurs = kind === "ready" || ((kind === "answered" || kind === "failed") && "secret" in message);
  return isOurs ? (message as FromChild) : null;
}
