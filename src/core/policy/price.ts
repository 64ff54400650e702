/** What a model charges. The state of a run holds it, since the run may end without the agent's code. */

/** Prices in dollars per million tokens, which is micro-dollars per token. */
export interface Price {
  /** Dollars per million input tokens. */
  readonly inUsd: number;
  /** Dollars per million output tokens. */
  readonly outUsd: number;
  /** Dollars per million input tokens that the provider read from its cache. Absent: `inUsd`. */
  readonly cacheReadUsd?: number;
  /** Dollars per million input tokens that it wrote to its cache. Absent: `inUsd`. */
  readonly cacheWriteUsd?: number;
  /** Dollars per million output tokens of reasoning. Absent: `outUsd`. */
  readonly reasoningUsd?: number;
}

/** The tokens of one reply. The optional counts are parts of the two others; absent: the provider reports none. */
export interface TokenCounts {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
  /** The provider reported no tokens at all, or 0 for a reply with content. Both counts are 0. */
  readonly isUncounted?: true;
}

export const NO_PRICE: Price = { inUsd: 0, outUsd: 0 };

/**
 * The cost in micro-dollars, rounded up so that rounding never exceeds a budget. A provider may report parts that are
 * larger than their whole: what is in no part is never negative.
 */
export function microUsdOf(price: Price, tokens: TokenCounts): number {
  const { inUsd, outUsd, cacheReadUsd = inUsd, cacheWriteUsd = inUsd, reasoningUsd = outUsd } = price;
  const { tokensIn, tokensOut, cacheRead = 0, cacheWrite = 0, reasoning = 0 } = tokens;
  const input =
    inUsd * Math.max(0, tokensIn - cacheRead - cacheWrite) + cacheReadUsd * cacheRead + cacheWriteUsd * cacheWrite;
  return Math.ceil(input + outUsd * Math.max(0, tokensOut - reasoning) + reasoningUsd * reasoning);
}
