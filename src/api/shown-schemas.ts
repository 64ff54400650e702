/** The schemas of parts of the document of a run. */
import { z } from "@hono/zod-openapi";
import type { Shown } from "../operations/views.ts";

const count = z.int().nonnegative();
const at = count.openapi({ description: "Epoch milliseconds." });

/** The job of an asynchronous model. */
export const detachedCall = z
  .object({ key: z.string(), model: z.string(), reference: z.string().nullable(), since: at, nextLookAt: at })
  .nullable()
  .openapi({
    description: "The job that its asynchronous model works on; the run looks at it at nextLookAt.",
  }) satisfies z.ZodType<Shown["detachedCall"]>;

/** After what a child run went on instead of ending. */
export const again = z.object({ try: count, tries: count, after: z.string() }).nullable().openapi({
  description: "It acted outside, and went on after this answer or failure; null: it did not.",
}) satisfies z.ZodType<Shown["again"]>;
