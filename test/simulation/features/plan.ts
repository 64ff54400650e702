/**
 * Which features take part in a history: in one of three, each of them with some chance. They are drawn apart from
 * everything else, so that a seed without them is the same history as before.
 */
import type { SeededChoices } from "../seeded-choices.ts";
import { type CapPlan, capPlanOf } from "./cap-plan.ts";
import { type ChatPlan, chatPlanOf } from "./chat-plan.ts";
import { type BatchPlan, batchPlanOf } from "./batch-plan.ts";
import { type MemoryPlan, memoryPlanOf } from "./memory-plan.ts";
import { type WaitPlan, waitPlanOf } from "./wait-plan.ts";
import { type WebhookPlan, webhookPlanOf } from "./webhook-plan.ts";

export interface FeaturePlan {
  /** Some of its calls wait: for a human's answer, an event or a time. */
  readonly waits: WaitPlan | null;
  /** The replies of its model come from batches. */
  readonly batches: BatchPlan | null;
  /** Its agent recalls, writes and learns. */
  readonly memory: MemoryPlan | null;
  /** What all runs together may spend in a day. */
  readonly cap: CapPlan | null;
  /** An endpoint hears of it. */
  readonly webhooks: WebhookPlan | null;
  /** It is a conversation. */
  readonly chat: ChatPlan | null;
}

export const NO_FEATURES: FeaturePlan = {
  ...{ waits: null, batches: null, memory: null, cap: null, webhooks: null, chat: null },
};

const ONE_IN = 3;

/** `isSwept`: a sweeper comes. `mayChat`: the agent has no definition of done. */
export function featuresOf(
  chance: SeededChoices,
  { isSwept, mayChat }: { readonly isSwept: boolean; readonly mayChat: boolean },
): FeaturePlan {
  if (!chance.oneIn(ONE_IN)) return NO_FEATURES;
  return {
    waits: waitPlanOf(chance.child("waits")),
    batches: batchPlanOf(chance.child("batches")),
    memory: memoryPlanOf(chance.child("memory")),
    cap: capPlanOf(chance.child("cap"), isSwept),
    webhooks: webhookPlanOf(chance.child("webhooks"), isSwept),
    chat: chatPlanOf(chance.child("chat"), mayChat),
  };
}

/** True if the run's world has records that the history may damage. */
export const hasFeatures = (plan: FeaturePlan): boolean => Object.values(plan).some((each) => each !== null);
