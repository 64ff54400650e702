/** What the seed chooses for the calls of a history that wait. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface WaitPlan {
  /** How long an answer or an event may take. Some people come too late. */
  readonly limitMs: number;
  /** What follows at the limit. */
  readonly atLimit: "tell" | "take";
  /** The most times that somebody signals an event without knowing whether a call waits for it. */
  readonly signals: number;
}

const WAITS_ONE_IN = 2;

export function waitPlanOf(chance: SeededChoices): WaitPlan | null {
  if (!chance.oneIn(WAITS_ONE_IN)) return null;
  return {
    limitMs: chance.pick([1_500, 6_000, 12_000]),
    atLimit: chance.pick(["tell", "take"] as const),
    signals: chance.below(4),
  };
}
