/** What the seed chooses for a model whose replies come from batches. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface BatchPlan {
  /** How a batch whose start was not answered can be known. */
  readonly lostStart: "find" | "key" | "none";
  /** How long a batch takes. */
  readonly ms: number;
}

const BATCHES_ONE_IN = 3;
const SECOND = 1_000;

export function batchPlanOf(chance: SeededChoices): BatchPlan | null {
  if (!chance.oneIn(BATCHES_ONE_IN)) return null;
  return {
    lostStart: chance.pick(["find", "find", "key", "none"]),
    ms: chance.pick([500, 6 * SECOND, 20 * SECOND]),
  };
}
