/** What the seed chooses for the conversation of a history. */
import type { SeededChoices } from "../seeded-choices.ts";

export interface ChatPlan {
  /** How long the run waits for the next message. */
  readonly idleMs: number;
  /** How many messages a user sends while the run waits or works. */
  readonly messages: number;
}

const CHATS_ONE_IN = 3;

/** `mayChat`: its agent has no other topology, and no definition of done. */
export const chatPlanOf = (chance: SeededChoices, mayChat: boolean): ChatPlan | null =>
  chance.oneIn(CHATS_ONE_IN) && mayChat ? { idleMs: chance.pick([1_500, 5_000]), messages: 1 + chance.below(4) } : null;
