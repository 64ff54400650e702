/** How far a run has come in its budget. Colour is never alone: each level has words and a shape too. */
import { meterWords } from "../../render/meters.ts";
import type { BudgetMeter } from "../../operations/budget-meter.ts";

export type MeterLevel = "fine" | "near" | "used";

export const LEVEL_WORDS: { readonly [L in MeterLevel]: string } = {
  fine: "",
  near: "nearly used up",
  used: "used up",
};

/** From this share on a limit is near. */
const NEAR = 0.8;

/** The used share of a meter, 0 to 1. A limit of 0 is used up. */
export const shareOf = ({ used, limit }: BudgetMeter): number => (limit > 0 ? Math.min(1, used / limit) : 1);

export function levelOf(meter: BudgetMeter): MeterLevel {
  const share = shareOf(meter);
  return share >= 1 ? "used" : share >= NEAR ? "near" : "fine";
}

export const dollarsIn = (budget: readonly BudgetMeter[]): BudgetMeter | null =>
  budget.find(({ meter }) => meter === "usd") ?? null;

/** The meter that ends or stops the run first, if nothing changes; null without a limit. */
export const tightest = (budget: readonly BudgetMeter[]): BudgetMeter | null =>
  budget.reduce<BudgetMeter | null>(
    (most, each) => (most === null || shareOf(each) > shareOf(most) ? each : most),
    null,
  );

/**
 * Such as `9 of 10 beats: nearly used up`; null while every meter has room. `beside`: the meter whose amounts stand beside
 * the words already.
 */
export function warningOf(
  budget: readonly BudgetMeter[],
  beside: BudgetMeter["meter"] | null = null,
): { readonly level: MeterLevel; readonly words: string } | null {
  const most = tightest(budget);
  if (most === null || levelOf(most) === "fine") return null;
  const level = levelOf(most);
  return { level, words: `${most.meter === beside ? "" : `${meterWords(most)}: `}${LEVEL_WORDS[level]}` };
}
