/** The schema of what begins a run: its start, its deadline, its firing, and the run that it was forked from; see `state.ts`. */
import * as z from "zod";
import type { Deadline } from "../../core/deadline.ts";
import type { EventOf } from "../../core/event.ts";
import type { ForkedFrom } from "../../core/forked-from.ts";
import type { RunFiring } from "../../core/run-firing.ts";

const at = z.int().nonnegative();
const count = z.int().nonnegative();
const name = z.string().min(1);

export const deadline: z.ZodType<Deadline> = z.looseObject({ at, endBy: at, onExpiry: z.enum(["undo", "leave"]) });

export const forked: z.ZodType<ForkedFrom> = z.looseObject({ run: name, born: name, version: count, calls: count });

export const firing: z.ZodType<RunFiring> = z.looseObject({
  schedule: name,
  dueAt: z.int(),
  previousDueAt: z.int().nullable(),
  makesUp: z.boolean(),
});

export const runStarted: z.ZodType<EventOf<"RunStarted">> = z.looseObject({
  kind: z.literal("RunStarted"),
  at,
  agentVersion: z.string(),
  deadline: deadline.exactOptional(),
  forked: forked.exactOptional(),
});
