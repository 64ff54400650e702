/** What the seed chooses for the memory of a history. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface MemoryPlan {
  /** How often somebody changes what the run has recalled. */
  readonly revisions: number;
}

const MEMORY_ONE_IN = 3;

export const memoryPlanOf = (chance: SeededChoices): MemoryPlan | null =>
  chance.oneIn(MEMORY_ONE_IN) ? { revisions: chance.below(4) } : null;
