/**
 * List prices of models, as data: dollars per million tokens, each with the page that says so and the day on which it was
 * looked at. Prices change and no list is whole, so an agent may say its own `price`, and a model that is not here has
 * none, unless `cairn.config.ts` gives it one: a budget of money for it is refused rather than counted as nothing. Discounts (cached input, batches) and
 * surcharges are not in it: what is counted is rather too much.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import * as z from "zod";
import { NO_PRICE, type Price } from "../core/policy/price.ts";
import type { Priced } from "../ports/agent.ts";

export const PRICE = { inUsd: z.number().nonnegative(), outUsd: z.number().nonnegative() };

/** What `cairn.config.ts` says of a model, and where and when somebody read it. */
export interface ConfigPrice extends Price {
  /** Such as the address of a page, or the number of a contract. */
  readonly source?: string;
  /** `YYYY-MM-DD`. */
  readonly lookedAt?: string;
}

/** By the name of the model. */
export type Prices = Readonly<Record<string, ConfigPrice>>;

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

const UNKNOWN: Priced = { price: NO_PRICE, priceFrom: { kind: "none" } };

/** Of the table; nothing is counted where nobody looked it up. */
export function listPriceOf(model: string | LanguageModelV4): Priced {
  const found = LIST_PRICES.find((each) => each.model === aliasOf(model));
  if (found === undefined) return UNKNOWN;
  const { inUsd, outUsd, source, lookedAt } = found;
  return { price: { inUsd, outUsd }, priceFrom: { kind: "table", source, lookedAt } };
}

interface Charged extends Priced {
  readonly model: string | LanguageModelV4;
}

/** The agent as it is charged where these prices hold, and its fallbacks likewise. */
export function pricedBy<A extends Charged & { readonly fallbacks: readonly Charged[] }>(agent: A, prices: Prices): A {
  const fallbacks = agent.fallbacks.map((fallback) => chargedBy(fallback, prices));
  return { ...chargedBy(agent, prices), fallbacks };
}

/** What it says itself comes first, then these prices, then the table. */
function chargedBy<A extends Charged>(agent: A, prices: Prices): A {
  if (agent.priceFrom.kind === "agent") return agent;
  // Of the very name before its alias, and not what every object has by birth.
  const name = [nameOf(agent.model), aliasOf(agent.model)].find((each) => Object.hasOwn(prices, each));
  const said = name === undefined ? undefined : prices[name];
  if (said === undefined) return agent;
  const { inUsd, outUsd, source = null, lookedAt = null } = said;
  return { ...agent, price: { inUsd, outUsd }, priceFrom: { kind: "config", source, lookedAt } };
}

/** For people: `cairn.config.ts, 2026-11-21`. */
export function priceWords({ price: { inUsd, outUsd }, priceFrom }: Priced): string {
  if (priceFrom.kind === "none") return "no price is known";
  const amounts = `$${inUsd} in, $${outUsd} out per million tokens`;
  if (priceFrom.kind === "agent") return `${amounts}, by the agent itself`;
  const { kind, source, lookedAt } = priceFrom;
  const where = kind === "config" ? "cairn.config.ts" : "the list of cairn";
  return [amounts, `by ${where}`, source, lookedAt].filter((each) => each !== null).join(", ");
}

const nameOf = (model: string | LanguageModelV4): string =>
  typeof model === "string" ? model.slice(model.indexOf("#") + 1) : model.modelId;

/** Of `claude-opus-4-5-20251101` it is `claude-opus-4-5`. */
const aliasOf = (model: string | LanguageModelV4): string => nameOf(model).replace(/-\d{8}$/, "");
