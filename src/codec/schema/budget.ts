/** The schemas of budgets, grants, prices and assignments; see `schema.ts`. */
import * as z from "zod";
import type { Grant, Limits, Spent } from "../../core/policy/budget.ts";
import type { Decision } from "../../core/event.ts";
import type { Price } from "../../core/policy/price.ts";
import type { Extension } from "../../core/state.ts";

const count = z.int().nonnegative();
const limit = count.nullable();
const some = count.exactOptional();

const meters = { tokensIn: count, tokensOut: count, microUsd: count, beats: count, toolCalls: count };
export const spent: z.ZodType<Spent> = z.looseObject({ ...meters, wallMs: some });

export const debit: z.ZodType<Partial<Spent>> = z.looseObject({
  ...{ tokensIn: some, tokensOut: some, microUsd: some, beats: some, toolCalls: some, wallMs: some },
});

export const grant: z.ZodType<Grant> = z.looseObject({
  ...{ beats: some, microUsd: some, tokens: some, wallMs: some, toolCalls: some },
});

export const price: z.ZodType<Price> = z.looseObject({
  inUsd: z.number().nonnegative(),
  outUsd: z.number().nonnegative(),
});

const limits: z.ZodType<Limits> = z.looseObject({
  ...{ beats: limit, microUsd: limit, tokens: limit, wallMs: limit, toolCalls: limit },
});

/** The additional fields of a gate that asks for more budget. */
export const asksFor = { limits, calls: count };

/** The schema of a budget extension. `frozen` are the fields of every gate. */
export const extensionWith = (frozen: {
  readonly gate: z.ZodString;
  readonly planHash: z.ZodString;
  readonly argsHash: z.ZodString;
  readonly reason: z.ZodString;
  readonly expiresAt: z.ZodInt;
  readonly decision: z.ZodNullable<z.ZodType<Decision>>;
}): z.ZodType<Extension> =>
  z.looseObject({ asked: count, granted: grant, gate: z.looseObject({ ...frozen, ...asksFor }).nullable() });

export const assigned = z.looseObject({ asked: count, to: z.string().min(1), by: z.string() });
