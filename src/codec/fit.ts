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
    return { kind: "threw", why: `its schema threw: ${sentenceOf(error)}` };
  }
}
