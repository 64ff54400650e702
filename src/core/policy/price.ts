/** What a model charges. The state of a run holds it, since the run may end without the agent's code. */

/** Prices in dollars per million tokens, which is micro-dollars per token. */
export interface Price {
  /** Dollars per million input tokens. */
  readonly inUsd: number;
  /** Dollars per million output tokens. */
  readonly outUsd: number;
}

export const NO_PRICE: Price = { inUsd: 0, outUsd: 0 };

/** The cost in micro-dollars, rounded up so that rounding never exceeds a budget. */
export function microUsdOf(price: Price, tokensIn: number, tokensOut: number): number {
  return Math.ceil(price.inUsd * tokensIn + price.outUsd * tokensOut);
}
