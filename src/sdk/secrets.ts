/**
 * Which secrets an agent needs, by name. Values are read through the world when a tool asks for one, and are never
 * written: neither into a run, nor into a log.
 */
import * as z from "zod";

/** As environments and parameter stores take names. */
export const secretNames = z
  .array(
    z.string().regex(/^[A-Z][A-Z0-9_]{0,63}$/, "a name is upper-case letters, digits and _, and begins with a letter"),
  )
  .max(32)
  .refine((names) => new Set(names).size === names.length, "a name stands there twice");
