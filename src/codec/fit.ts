/** Validates a value against an agent's schema. A schema is the agent's own code, so an exception becomes a result. */
import type * as z from "zod";
import { sentenceOf } from "./value.ts";

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

/** Whether a part of the schema is an async function. Its parts are not typed: a schema may come from another zod. */
export function hasAsyncPart(schema: unknown): boolean {
  const seen = new Set<unknown>();
  const isAsync = (part: unknown): boolean => {
    if (typeof part === "function" && part.constructor.name === "AsyncFunction") return true;
    if (typeof part !== "object" || part === null || seen.has(part) || seen.size > PARTS_MAX) return false;
    seen.add(part);
    const { _zod: inner } = part as { readonly _zod?: { readonly def?: unknown } };
    if (inner !== undefined) return isAsync(inner.def);
    const isPlain = Array.isArray(part) || Object.getPrototypeOf(part) === Object.prototype;
    return isPlain && Object.values(part).some(isAsync);
  };
  return isAsync(schema);
}

/** A schema that is larger than this is not looked through further. */
const PARTS_MAX = 10_000;
