/** The schemas of redrive: failures that allow it, and runs that were redriven; see `schema.ts`. */
import * as z from "zod";
import type { EventOf, FailedFrom } from "../../core/event.ts";
import { PHASE_NAMES, type Phase } from "../../core/phases.ts";
import type { Redriven } from "../../core/state.ts";
import { failure } from "./recovery.ts";

const count = z.int().nonnegative();
const name = z.string().min(1);

export const failedFrom: z.ZodType<FailedFrom> = z.looseObject({
  phase: z.custom<Phase>((value) => PHASE_NAMES.includes(value as Phase)),
  started: z.array(name),
});

export const redriven: z.ZodType<Redriven> = z.looseObject({ times: z.int().positive(), id: name });

export const runRedriven: z.ZodType<EventOf<"RunRedriven">> = z.looseObject({
  ...{ kind: z.literal("RunRedriven"), at: count, id: name, by: name, why: z.string(), failure },
});
