/** The schema of what is spent and allowed, as `core/policy/budget.ts` and `price.ts` have it; see `state.ts`. */
import * as z from "zod";
import type { Grant, BudgetLimits, Spent } from "../../core/policy/budget.ts";
import type { Price } from "../../core/policy/price.ts";

const count = z.int().nonnegative();
const limit = count.nullable();
const some = count.exactOptional();

const meters = { tokensIn: count, tokensOut: count, microUsd: count, beats: count, toolCalls: count };
export const spent: z.ZodType<Spent> = z.looseObject({ ...meters, wallMs: some });

export const debit: z.ZodType<Partial<Spent>> = z.looseObject({
  tokensIn: some,
  tokensOut: some,
  microUsd: some,
  beats: some,
  toolCalls: some,
  wallMs: some,
});

export const grant: z.ZodType<Grant> = z.looseObject({
  beats: some,
  microUsd: some,
  tokens: some,
  wallMs: some,
  toolCalls: some,
});

export const price: z.ZodType<Price> = z.looseObject({
  inUsd: z.number().nonnegative(),
  outUsd: z.number().nonnegative(),
  cacheReadUsd: z.number().nonnegative().exactOptional(),
  cacheWriteUsd: z.number().nonnegative().exactOptional(),
  reasoningUsd: z.number().nonnegative().exactOptional(),
});

const limits: z.ZodType<BudgetLimits> = z.looseObject({
  beats: limit,
  microUsd: limit,
  tokens: limit,
  wallMs: limit,
  toolCalls: limit,
});

/** What a gate that asks for more says besides. */
export const asksFor = { limits, calls: count };
