/** The schema of the event about tools that are left out, as `core/left-out.ts` has it. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import type { LeftOutEvents } from "../../core/left-out.ts";

const count = z.int().nonnegative();

export const leftOutEvents: { readonly [K in keyof LeftOutEvents]: z.ZodType<EventOf<K>> } = {
  ToolsLeftOut: z.looseObject({
    kind: z.literal("ToolsLeftOut"),
    at: count,
    tools: z.array(z.looseObject({ tool: z.string(), source: z.string(), why: z.string() })),
    count,
    digest: z.string(),
  }),
};
