/**
 * List prices of models in dollars per million tokens. Each entry names the page it was read from and the day.
 *
 * Prices change and the list is incomplete, so `cairn.config.ts` or an agent can set a price. A model without any price
 * cannot have a budget of money: the budget is refused instead of counting nothing. Prices of cached
 * input and of reasoning can be set, too. The list has none, nor any discount, so costs are rather overestimated.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import * as z from "zod";
import { NO_PRICE, type Price } from "../core/policy/price.ts";
import type { Agent, Priced } from "../ports/agent.ts";
import { AgentInvalid } from "../ports/agent-invalid.ts";
import { firstIssue, parsedOption } from "./issues.ts";

/** The fields of the schema of a price. */
export const priceFields = () => {
  const usd = z.number().nonnegative();
  return {
    inUsd: usd,
    outUsd: usd,
    cacheReadUsd: usd.exactOptional(),
    cacheWriteUsd: usd.exactOptional(),
    reasoningUsd: usd.exactOptional(),
  };
};

/** A price in `cairn.config.ts`, with its source and the day on which it was read. */
export interface ConfigPrice extends Price {
  /** For example the URL of a page or the number of a contract. */
  readonly source?: string;
  /** `YYYY-MM-DD`. */
  readonly lookedAt?: string;
}

/** Prices by model name. */
export type Prices = Readonly<Record<string, ConfigPrice>>;

interface ListPrice extends Price {
  /** The model name in the provider's API, without a release date. */
  readonly model: string;
  readonly source: string;
  /** `YYYY-MM-DD`. */
  readonly lookedAt: string;
}

const OVERVIEW = "https://platform.claude.com/docs/models/opus-4-5/overview";
const PRICING = "https://docs.anthropic.com/en/docs/about-claude/pricing";

/** Only prices from the providers' own pages. */
export const LIST_PRICES: readonly ListPrice[] = [
  { model: "claude-opus-4-5", inUsd: 5, outUsd: 25, source: OVERVIEW, lookedAt: "2026-11-21" },
  { model: "claude-haiku-4-5", inUsd: 1, outUsd: 5, source: OVERVIEW, lookedAt: "2026-11-21" },
  { model: "claude-opus-4-1", inUsd: 15, outUsd: 75, source: PRICING, lookedAt: "2026-11-21" },
];

const UNKNOWN: Priced = { price: NO_PRICE, priceFrom: { kind: "none" } };

/** The price that an agent names, else the list price of its model. Throws `AgentInvalid` if what it names is no price. */
export function priceOf(agent: {
  readonly name: string;
  readonly price?: Price | undefined;
  readonly model: string | LanguageModelV4;
}): Priced {
  const { name, price, model } = agent;
  if (price === undefined) return listPriceOf(model);
  const parsed = parsedOption(z.strictObject(priceFields()), price);
  if (!parsed.success) throw new AgentInvalid(`the price of agent ${name}: ${firstIssue(parsed.error)}`);
  return { price, priceFrom: { kind: "agent" } };
}

/** The list price of a model; if the list has none, no money is counted. */
export function listPriceOf(model: string | LanguageModelV4): Priced {
  const found = LIST_PRICES.find((each) => each.model === aliasOf(model));
  if (found === undefined) return UNKNOWN;
  const { model: _, source, lookedAt, ...price } = found;
  return { price, priceFrom: { kind: "table", source, lookedAt } };
}

interface Charged extends Priced {
  readonly model: string | LanguageModelV4;
}

/** The agent and its fallbacks with the prices of the config applied. */
export function pricedBy<A extends Charged & Pick<Agent, "fallbacks" | "models">>(agent: A, prices: Prices): A {
  const fallbacks = agent.fallbacks.map((fallback) => chargedBy(fallback, prices));
  const models = Object.entries(agent.models ?? {}).map(([name, each]) => [name, chargedBy(each, prices)] as const);
  return { ...chargedBy(agent, prices), fallbacks, models: Object.fromEntries(models) };
}

/** The agent's own price comes first, then the config's, then the list's. */
function chargedBy<A extends Charged>(agent: A, prices: Prices): A {
  if (agent.priceFrom.kind === "agent") return agent;
  // The exact name comes before the alias. `hasOwn` keeps inherited names such as `constructor` from matching.
  const name = [nameOf(agent.model), aliasOf(agent.model)].find((each) => Object.hasOwn(prices, each));
  const said = name === undefined ? undefined : prices[name];
  if (said === undefined) return agent;
  const { source = null, lookedAt = null, ...price } = said;
  return { ...agent, price, priceFrom: { kind: "config", source, lookedAt } };
}

/** The price and its source as text for operators. */
export function priceWords({ price, priceFrom }: Priced): string {
  if (priceFrom.kind === "none") return "no price is known";
  const { inUsd, outUsd, cacheReadUsd, cacheWriteUsd, reasoningUsd } = price;
  const parts = Object.entries({
    "read from cache": cacheReadUsd,
    "written to cache": cacheWriteUsd,
    reasoning: reasoningUsd,
  });
  const more = parts.flatMap(([what, each]) => (each === undefined ? [] : [`, $${each} ${what}`]));
  const amounts = `$${inUsd} in, $${outUsd} out${more.join("")} per million tokens`;
  if (priceFrom.kind === "agent") return `${amounts}, by the agent itself`;
  const { kind, source, lookedAt } = priceFrom;
  const where = kind === "config" ? "cairn.config.ts" : "the list of cairn";
  return [amounts, `by ${where}`, source, lookedAt].filter((each) => each !== null).join(", ");
}

const nameOf = (model: string | LanguageModelV4): string =>
  typeof model === "string" ? model.replace(PROVIDER, "") : model.modelId;

/** What stands before the model in a text. The names of some models contain a colon too. */
const PROVIDER = /^([^#]*#|[a-z-]+:)/;

/** The name without a release date: `claude-opus-4-5` for `claude-opus-4-5-20251101`. */
const aliasOf = (model: string | LanguageModelV4): string => nameOf(model).replace(/-\d{8}$/, "");
