/** What a model charges. It stands in the state of a run, since an end is accounted for without the agent's code. */

/** Prices in dollars per million tokens, which is micro-dollars per token. */
export interface Price {
  readonly inUsd: number;
  readonly outUsd: number;
}

export const NO_PRICE: Price = { inUsd: 0, outUsd: 0 };

/** Rounded up: a budget is not missed by rounding. */
export function microUsdOf(price: Price, tokensIn: number, tokensOut: number): number {
  return Math.ceil(price.inUsd * tokensIn + price.outUsd * tokensOut);
}
