/** The meters of a budget in words. The command line and the console show the same. */
import { type Grant, METERS } from "../core/policy/budget.ts";
import { type BudgetMeter, KNOWN_AS } from "../operations/budget-meter.ts";
import { dollars, duration, grouped } from "./words.ts";

const AMOUNT: { readonly [M in BudgetMeter["meter"]]: (amount: number) => string } = {
  beats: grouped,
  usd: (amount) => dollars(Math.round(amount * 1e6)),
  tokens: grouped,
  seconds: (amount) => duration(amount * 1_000),
  toolCalls: grouped,
};

const UNIT: { readonly [M in BudgetMeter["meter"]]: string } = {
  beats: " beats",
  usd: "",
  tokens: " tokens",
  seconds: " at work",
  toolCalls: " tool calls",
};

const amountWords = (meter: BudgetMeter["meter"], amount: number): string => `${AMOUNT[meter](amount)}${UNIT[meter]}`;

/** What operators granted beyond a budget. */
export const grantedWords = (grant: Grant): string =>
  METERS.flatMap((name) => {
    const [meter, units] = KNOWN_AS[name];
    const amount = grant[name];
    return amount === undefined ? [] : [amountWords(meter, amount / units)];
  }).join(", ");

/** Such as `$0.12 of $1.00` or `3 of 20 beats`. */
export const meterWords = ({ meter, used, limit }: BudgetMeter): string =>
  `${AMOUNT[meter](used)} of ${amountWords(meter, limit)}`;

export const budgetWords = (budget: readonly BudgetMeter[]): string => budget.map(meterWords).join(", ");
