/** What the seed chooses for the webhooks of a history. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface WebhookPlan {
  /** About one request in so many is not answered as it should be. */
  readonly troubleOneIn: number;
}

const WEBHOOKS_ONE_IN = 3;

/** The sweeper delivers. */
export const webhookPlanOf = (chance: SeededChoices, isSwept: boolean): WebhookPlan | null =>
  chance.oneIn(WEBHOOKS_ONE_IN) && isSwept ? { troubleOneIn: chance.pick([2, 6]) } : null;
