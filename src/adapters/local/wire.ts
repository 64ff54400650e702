/**
 * What a supervisor and its children say to each other over their IPC channel, as JSON. Tools live in the child's process, and
 * may find the channel: so each answer names the task by a secret that only the message of the task holds, and whatever else
 * comes is not heard.
 */
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

/** What a task threw. `code` is stable where the error has one: `StoreUnreachable` is the store's doing. */
export interface TaskError {
  readonly name: string;
  readonly code: string | null;
  readonly message: string;
}

/** Null for what no child of ours says. Who knows the secret is ours, so the rest is not looked at. */
export function heardFrom(message: unknown): FromChild | null {
  if (typeof message !== "object" || message === null || !("kind" in message)) return null;
  const { kind } = message;
  const isOurs = kind === "ready" || ((kind === "answered" || kind === "failed") && "secret" in message);
  return isOurs ? (message as FromChild) : null;
}
