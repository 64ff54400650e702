/** Schemas that the inputs of operations share. */
import * as z from "zod";
import type { Meter } from "../core/policy/budget.ts";
import type { Json } from "../core/json.ts";

/** Any JSON, unchanged. */
export const json = z.unknown() as unknown as z.ZodType<Json, Json>;

/** What the actor says of a decision, for the record and the model. */
export const note = z.string().nullable().default(null);

const amount = z.number().positive().exactOptional();

/** What a run may spend beyond its budget, per meter. */
export const more = z.strictObject({
  beats: amount,
  microUsd: amount,
  tokens: amount,
  wallMs: amount,
  toolCalls: amount,
} satisfies Record<Meter, z.ZodType>);

/** How long to wait until the run has absorbed the decision, in milliseconds. */
export const waitMs = z.int().nonnegative().default(0);

/** A memory, by its name. */
export const memoryInput = z.strictObject({ scope: z.string() });

export const entryInput = memoryInput.extend({ id: z.string() });

/** An agent, by its name. */
export const agentInput = z.strictObject({ agent: z.string() });
