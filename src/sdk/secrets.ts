/**
 * The names of the secrets that an agent needs. A value is read through the world when a tool asks for it; it is never
 * written to a run or a log.
 */
import * as z from "zod";
import { builtOnUse } from "../codec/fit.ts";

/** Names that both environment variables and parameter stores accept. */
export const secretNames = builtOnUse(() =>
  z
    .array(
      z
        .string()
        .regex(/^[A-Z][A-Z0-9_]{0,63}$/, "a name is upper-case letters, digits and _, and begins with a letter"),
    )
    .max(32)
    .refine((names) => new Set(names).size === names.length, "a name is listed twice"),
);
