/** The schema of decisions that were ignored because their gate was already closed; see `schema.ts`. */
import * as z from "zod";
import type { EventOf } from "../../core/event.ts";
import type { State } from "../../core/state.ts";

const shape = {
  at: z.int().nonnegative(),
  gate: z.string().min(1),
  as: z.enum(["approve", "deny", "edit"]),
  by: z.string(),
  why: z.string(),
};

export const ignoredDecision: z.ZodType<NonNullable<State["ignoredDecision"]>> = z.looseObject(shape);

export const decisionIgnored: z.ZodType<EventOf<"DecisionIgnored">> = z.looseObject({
  kind: z.literal("DecisionIgnored"),
  ...shape,
});
