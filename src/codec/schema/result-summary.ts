/** The schema of the event about summaries of results, as `core/result-summary.ts` has it. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import { routed, sha } from "./message.ts";

const count = z.int().nonnegative();

export const resultSummarised: z.ZodType<EventOf<"ResultSummarised">> = z.looseObject({
  kind: z.literal("ResultSummarised"),
  at: count,
  call: z.string().min(1),
  manifest: z.looseObject({
    bytes: count,
    sha256: sha,
    characters: count,
    read: count,
  }),
  summary: z.string().min(1),
  model: z.string().min(1).exactOptional(),
  routed: routed.exactOptional(),
  tokens: count,
  failed: z.literal(true).exactOptional(),
});
