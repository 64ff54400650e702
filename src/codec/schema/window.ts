/** The schema of compactions and of the window: the part of the transcript that a model is shown; see `schema.ts`. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";

const count = z.int().nonnegative();
const name = z.string().min(1);

export const window: z.ZodType<EventOf<"Compacted">["window"]> = z.looseObject({ from: count, lead: z.array(name) });

export const compacted: z.ZodType<EventOf<"Compacted">> = z.looseObject({
  kind: z.literal("Compacted"),
  at: count,
  summary: name,
  tokens: count,
  window,
  replaced: z.looseObject({ from: name, to: name, messages: count, digest: z.string().regex(/^[0-9a-f]{64}$/) }),
  why: z.string(),
});

/** Marks a reply whose request was close to the agent's context limit, so that a compaction follows. */
export const crowded = z.literal(true).exactOptional();
