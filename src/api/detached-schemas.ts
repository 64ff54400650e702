/** The schema of the job that an asynchronous model works on, as a run shows it. */
import { z } from "@hono/zod-openapi";
import type { Shown } from "../operations/views.ts";

const at = z.int().nonnegative().openapi({ description: "Epoch milliseconds." });

export const detachedCall = z
  .object({ key: z.string(), model: z.string(), reference: z.string().nullable(), since: at, nextLookAt: at })
  .nullable()
  .openapi({
    description: "The job that its asynchronous model works on; the run looks at it at nextLookAt.",
  }) satisfies z.ZodType<Shown["detachedCall"]>;
