/** What the seed chooses for a model whose replies come from jobs. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface JobPlan {
  /** How a job whose start was not answered can be known. */
  readonly lostStart: "find" | "key" | "none";
  /** How long a job takes. */
  readonly ms: number;
}

const JOBS_ONE_IN = 3;
const SECOND = 1_000;

export function jobPlanOf(chance: SeededChoices): JobPlan | null {
  if (!chance.oneIn(JOBS_ONE_IN)) return null;
  return {
    lostStart: chance.pick(["find", "find", "key", "none"]),
    ms: chance.pick([500, 6 * SECOND, 20 * SECOND]),
  };
}
