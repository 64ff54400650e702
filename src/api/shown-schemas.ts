/** The schemas of parts of the document of a run. */
import { z } from "@hono/zod-openapi";
import type { Json } from "../core/json.ts";
import type { OpenGate, Shown } from "../operations/views.ts";
import type { OpenWait } from "../operations/wait-views.ts";

const count = z.int().nonnegative();
const at = count.openapi({ description: "Epoch milliseconds." });

export const json = z.unknown().nonoptional().openapi({ description: "Any JSON." }) as z.ZodType<Json>;

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

export const openGate: z.ZodType<OpenGate> = z.object({
  gate: z.string(),
  call: z.string(),
  tool: z.string(),
  reason: z.string(),
  args: json,
  argsHash: z.string(),
  planHash: z.string(),
  expiresAt: at,
  decided: z.boolean(),
  asksAgain: z.boolean().openapi({ description: "At expiresAt a human is asked again. False: the gate is denied." }),
  parsed: z
    .object({
      as: z.enum(["value", "projection"]).openapi({
        description: "`value`: the tool gets exactly this. `projection`: that is not JSON, and this shows it.",
      }),
      json,
      dropped: z.array(z.string()).openapi({ description: "What the arguments have and the tool does not get." }),
    })
    .nullable()
    .openapi({ description: "What the schema of the tool made of the arguments; null: the same." }),
});

export const openWait: z.ZodType<OpenWait> = z.object({
  call: z.string(),
  tool: z.string(),
  for: z.enum(["answer", "event", "time"]),
  args: json,
  event: z.string().nullable().openapi({ description: "The name of the event; null where it waits for none." }),
  schema: json.openapi({ description: "What fits, as JSON Schema; null where that is not recorded." }),
  until: at.nullable().openapi({ description: "When the wait ends without it, epoch milliseconds; null: no limit." }),
  atLimit: z
    .enum(["tell", "fail", "take"])
    .openapi({ description: "What follows then: the model is told, the run fails, or a default is the result." }),
  asked: count.openapi({ description: "The number of the question, from 1." }),
  refused: z.string().nullable().openapi({ description: "Why what came last does not fit; null if nothing did." }),
  answered: z.boolean().openapi({ description: "What it waits for has come, and the next beat judges it." }),
});
