/** Validates a value against an agent's schema. A schema is the agent's own code, so an exception becomes a result. */
import type * as z from "zod";
import { sentenceOf } from "./value.ts";

/** A schema that is built when a value is first parsed with it: a process parses with few of those that there are. */
export function builtOnUse<Schema extends z.ZodType>(build: () => Schema): () => Schema {
  let built: Schema | null = null;
  return () => (built ??= build());
}

export type Fit =
  /** `output` is the value as the schema parsed it, with defaults and transforms. */
  | { readonly kind: "fits"; readonly output: unknown }
  | { readonly kind: "misfits"; readonly issues: readonly z.core.$ZodIssue[] }
  | { readonly kind: "threw"; readonly why: string };

/** Never throws. */
export function fit(schema: z.ZodType, value: unknown): Fit {
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? { kind: "fits", output: parsed.data } : { kind: "misfits", issues: parsed.error.issues };
  } catch (error) {
    return {
      kind: "threw",
      why: promiseInSchema(schema, { value, error }) ?? `its schema threw: ${sentenceOf(error)}`,
    };
  }
}

/**
 * What is wrong where a part of a schema returns a promise; null if that is not why it threw. zod throws an error of its own
 * then, or one of the code that it compiles; without that code it names the cause. Never throws: an error may be hostile.
 */
export function promiseInSchema(
  schema: z.ZodType,
  thrown: { readonly value: unknown; readonly error: unknown },
): string | null {
  try {
    const { value, error } = thrown;
    const isOne = isOfPromise(error) || (error instanceof TypeError && isOfPromise(errorWithoutCode(schema, value)));
    return isOne ? ASYNC : null;
  } catch {
    return null;
  }
}

const ASYNC =
  "its schema has a refine or transform that returns a promise, and values are parsed at once: write one that is not async, " +
  "and look outside in the function that gets the value";

const isOfPromise = (error: unknown): boolean => error instanceof Error && error.constructor.name === "$ZodAsyncError";

function errorWithoutCode(schema: z.ZodType, value: unknown): unknown {
  try {
    schema.safeParse(value, { jitless: true });
    return null;
  } catch (error) {
    return error;
  }
}
