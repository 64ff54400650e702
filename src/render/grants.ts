/** Grants of more budget in words: what one gives, and what to type for the one that a gate asks for. */
import type { Grant, BudgetLimits, Meter, Spent } from "../core/policy/budget.ts";
import { exhaustedMeters, usd } from "../core/policy/spending.ts";
import type { OpenGate } from "../operations/views.ts";
import { dollars, duration, grouped } from "./words.ts";

interface GrantAmount {
  /** The option of `approve` that grants it. */
  readonly option: string;
  readonly says: (amount: number) => string;
  /** Formats an amount as a user types it. */
  readonly typed: (amount: number) => string;
}

export const GRANTS: { readonly [M in Meter]: GrantAmount } = {
  microUsd: { option: "--usd", says: dollars, typed: usd },
  tokens: { option: "--tokens", says: (n) => `${grouped(n)} tokens`, typed: String },
  beats: { option: "--beats", says: (n) => `${grouped(n)} beats`, typed: String },
  toolCalls: { option: "--tool-calls", says: (n) => `${grouped(n)} tool calls`, typed: String },
  wallMs: { option: "--wall", says: (n) => `${duration(n)} at work`, typed: String },
};

const METERS = Object.keys(GRANTS) as readonly Meter[];

/** Formats a grant, such as `$2.00, 20 beats`. */
export const grantWords = (grant: Grant): string =>
  METERS.flatMap((meter) => (grant[meter] === undefined ? [] : [GRANTS[meter].says(grant[meter])])).join(", ");

/** The options to type to grant each exhausted budget as much again as its limit. */
export function askedFor({ args }: OpenGate): readonly string[] {
  const { spent, limits, calls } = args as unknown as { spent: Spent; limits: BudgetLimits; calls: number };
  return exhaustedMeters(spent, limits, calls).flatMap((meter) => [
    GRANTS[meter].option,
    GRANTS[meter].typed(Math.max(limits[meter] ?? 0, calls)),
  ]);
}
