/**
 * The budget is a ledger of limit and spent (seed 3). It is debited in the commit of the event that spent, and a
 * resumed run gets no fresh one (seed 4).
 */

/** What a run has used: tokens, micro-dollars, beats (model replies), tool calls. */
export interface Spent {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly microUsd: number;
  readonly beats: number;
  readonly toolCalls: number;
}

/** Limits; null is no limit. `tokens` counts input and output together. */
export interface Budget {
  readonly microUsd: number | null;
  readonly tokens: number | null;
  readonly beats: number;
  /** Claims that found an owner, and hand-overs after a death: what recovery itself may cost. */
  readonly takeovers: number;
}

export const NOTHING_SPENT: Spent = { tokensIn: 0, tokensOut: 0, microUsd: 0, beats: 0, toolCalls: 0 };

/** Prices in dollars per million tokens. */
export interface Price {
  readonly inUsd: number;
  readonly outUsd: number;
}

/** A dollar per million tokens is a micro-dollar per token. Rounded up: a budget is not missed by rounding. */
export function microUsdOf(price: Price, tokensIn: number, tokensOut: number): number {
  return Math.ceil(price.inUsd * tokensIn + price.outUsd * tokensOut);
}

export function add(spent: Spent, debit: Partial<Spent>): Spent {
  return {
    tokensIn: spent.tokensIn + (debit.tokensIn ?? 0),
    tokensOut: spent.tokensOut + (debit.tokensOut ?? 0),
    microUsd: spent.microUsd + (debit.microUsd ?? 0),
    beats: spent.beats + (debit.beats ?? 0),
    toolCalls: spent.toolCalls + (debit.toolCalls ?? 0),
  };
}

/** The first limit that leaves no room for another beat, in words; null while there is room. */
export function exhausted(spent: Spent, budget: Budget): string | null {
  if (spent.beats >= budget.beats) return `${spent.beats} of ${budget.beats} beats are used`;
  if (budget.microUsd !== null && spent.microUsd >= budget.microUsd) {
    return `$${usd(spent.microUsd)} of $${usd(budget.microUsd)} is spent`;
  }
  const tokens = spent.tokensIn + spent.tokensOut;
  if (budget.tokens !== null && tokens >= budget.tokens) return `${tokens} of ${budget.tokens} tokens are used`;
  return null;
}

/** Micro-dollars as dollars with the digits that matter: `0.17`, `0.0042`. */
export function usd(microUsd: number): string {
  const isWholeCents = microUsd % 10_000 === 0;
  return isWholeCents ? (microUsd / 1e6).toFixed(2) : (microUsd / 1e6).toFixed(6).replace(/0+$/, "");
}
