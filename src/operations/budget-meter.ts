/** The meters of a budget as people know them: dollars and seconds instead of micro-dollars and milliseconds. */
import { type Grant, METERS, type Meter, type Spent } from "../core/policy/budget.ts";
import { usedOf } from "../core/policy/spending.ts";

export interface BudgetMeter {
  readonly meter: "beats" | "usd" | "tokens" | "seconds" | "toolCalls";
  readonly used: number;
  /** With what operators granted, and never above what the run's parent reserved for it. */
  readonly limit: number;
}

/** The name of each meter, and how many of its units are one of these. */
export const KNOWN_AS: { readonly [M in Meter]: readonly [meter: BudgetMeter["meter"], units: number] } = {
  beats: ["beats", 1],
  microUsd: ["usd", 1e6],
  tokens: ["tokens", 1],
  wallMs: ["seconds", 1_000],
  toolCalls: ["toolCalls", 1],
};

/** Each meter that has a limit. */
export function budgetMeters(limits: Grant, spent: Spent): readonly BudgetMeter[] {
  const used = usedOf(spent);
  return METERS.flatMap((name) => {
    const limit = limits[name];
    if (limit === undefined) return [];
    const [meter, units] = KNOWN_AS[name];
    return [{ meter, used: used[name] / units, limit: limit / units }];
  });
}
