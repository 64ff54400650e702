/**
 * What a supervisor and its children say to each other over their IPC channel, as JSON. Tools live in the child's process, and
 * may find the channel: so each answer names the task by a secret that only the message of the task holds, and whatever else
 * comes is not heard.
 */
import * as z from "zod";
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

const taskError: z.ZodType<TaskError> = z.object({
  name: z.string(),
  code: z.string().nullable(),
  message: z.string(),
});

/** A result is checked no further: nobody but `serveTasks` knows the secret beside it. */
const fromChild: z.ZodType<FromChild> = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("ready") }),
  z.object({
    ...{ kind: z.literal("answered"), secret: z.string() },
    result: z.custom<TaskResult>((given) => typeof given === "object" && given !== null && "kind" in given),
  }),
  z.object({ kind: z.literal("failed"), secret: z.string(), error: taskError }),
]);

/** Null for what no child of ours says. */
export const heardFrom = (message: unknown): FromChild | null => fromChild.safeParse(message).data ?? null;
