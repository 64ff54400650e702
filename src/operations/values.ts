/** Schemas that the inputs of operations share. */
import * as z from "zod";
import { type RunLabels, wrongWithLabels } from "../core/ids.ts";
import type { Meter } from "../core/policy/budget.ts";
import type { Json } from "../core/json.ts";

/** Any JSON, unchanged. */
export const json = z.unknown() as unknown as z.ZodType<Json, Json>;

/** What a caller calls a run besides, when it starts it. */
export const startLabels: z.ZodType<RunLabels, RunLabels> = z
  .record(z.string(), z.string())
  .superRefine((given, ctx) => {
    const wrong = wrongWithLabels(given);
    if (wrong !== null) ctx.addIssue({ code: "custom", message: wrong });
  });

const LABEL = { error: "write a label as name=value, such as team=ops, and repeat the parameter for several" };
/** A value that no label can have finds no run. A pattern says the rest to readers of the API's document, too. */
const label = z.string().regex(/^[a-z0-9._-]{1,32}=[\s\S]/, LABEL);

/** Labels that a run has all of, as people write them. */
export const wantedLabels = z.union([label, z.array(label)], LABEL);

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
