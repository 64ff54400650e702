/** What the seed chooses for the spend cap of a history: what all runs together may spend in a day. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface CapPlan {
  /** In millionths of a dollar. */
  readonly microUsd: number;
  /** How long after it was reached an operator raises it. */
  readonly raisedAfterMs: number;
}

/** What a token costs: a reply of ten tokens costs a cent. */
const CENT = 10_000;
export const PRICE = { inUsd: 1_000, outUsd: 0 };

const CAPS_ONE_IN = 2;
const MINUTE = 60_000;

/** A run looks at its cap every quarter of an hour, so that a sweeper would come sixty times meanwhile. */
export function capPlanOf(chance: SeededChoices, isSwept: boolean): CapPlan | null {
  if (!chance.oneIn(CAPS_ONE_IN) || isSwept) return null;
  return { microUsd: CENT * (1 + chance.below(4)), raisedAfterMs: chance.pick([MINUTE, 20 * MINUTE, 130 * MINUTE]) };
}
