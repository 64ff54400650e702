/** The schema of `GET /caller`: who the caller is, and what this server performs for it. */
import { z } from "@hono/zod-openapi";
import type { CallerView } from "../operations/caller-view.ts";
import { SCOPES } from "../operations/operation.ts";

export const callerDocument = z
  .object({
    tenant: z.string(),
    actor: z.string().openapi({ description: "As the audit log names it." }),
    scopes: z.array(z.enum(SCOPES)).readonly(),
    isOperator: z
      .boolean()
      .openapi({ description: "It is the operator of the machine with the store, and may name each tenant." }),
    operations: z.array(z.string()).readonly().openapi({
      description: "The operations that have a route here and whose scope the caller has.",
    }),
    absent: z.array(z.string()).readonly().openapi({
      description: "The operations that this server performs for no caller. A deployment on AWS has no `purge`.",
    }),
    attendant: z
      .object({
        id: z.union([z.int(), z.string()]).openapi({ description: "A process ID, or the name of a world." }),
        name: z.string().openapi({ description: "For people, such as `process 4711`." }),
      })
      .nullable()
      .openapi({ description: "What drives the runs now; null: nothing does, or the server does not know." }),
  })
  .openapi("Caller") satisfies z.ZodType<CallerView>;
