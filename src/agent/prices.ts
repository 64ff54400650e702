/**
 * List prices of models, as data: dollars per million tokens, each with the page that says so and the day on which it was
 * looked at. Prices change and no list is whole, so an agent may say its own `price`, and a model that is not here has
 * none: a budget of money for it is refused rather than counted as nothing. Discounts (cached input, batches) and
 * surcharges are not in it: what is counted is rather too much.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";

/** Prices in dollars per million tokens. */
export interface Price {
  readonly inUsd: number;
  readonly outUsd: number;
}

/** A dollar per million tokens is a micro-dollar per token. Rounded up: a budget is not missed by rounding. */
export function microUsdOf(price: Price, tokensIn: number, tokensOut: number): number {
  return Math.ceil(price.inUsd * tokensIn + price.outUsd * tokensOut);
}

interface ListPrice extends Price {
  /** As the provider's API takes it, without the date of a release. */
  readonly model: string;
  readonly source: string;
  /** `YYYY-MM-DD`. */
  readonly lookedAt: string;
}

const OVERVIEW = "https://platform.claude.com/docs/models/opus-4-5/overview";
const PRICING = "https://docs.anthropic.com/en/docs/about-claude/pricing";

/** Only what the provider's own page was seen to say. */
export const LIST_PRICES: readonly ListPrice[] = [
  { model: "claude-opus-4-5", inUsd: 5, outUsd: 25, source: OVERVIEW, lookedAt: "2026-11-21" },
  { model: "claude-haiku-4-5", inUsd: 1, outUsd: 5, source: OVERVIEW, lookedAt: "2026-11-21" },
  { model: "claude-opus-4-1", inUsd: 15, outUsd: 75, source: PRICING, lookedAt: "2026-11-21" },
];

/** Of `claude-opus-4-5` as of `claude-opus-4-5-20251101`; null where nobody looked it up. */
export function listPriceOf(model: string | LanguageModelV4): Price | null {
  const name = typeof model === "string" ? model.slice(model.indexOf("#") + 1) : model.modelId;
  const alias = name.replace(/-\d{8}$/, "");
  const found = LIST_PRICES.find((each) => each.model === alias);
  return found === undefined ? null : { inUsd: found.inUsd, outUsd: found.outUsd };
}
