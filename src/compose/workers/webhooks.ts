/** The webhooks of a worker process. It delivers soon after a commit that noted something, beside its tasks. */
import { postWebhook } from "../../adapters/webhooks/post.ts";
import { deliveriesOf } from "../../features/webhooks/deliver.ts";
import type { Webhook } from "../../ports/webhooks.ts";
import type { World } from "../../ports/world.ts";

/** How long one delivery of a queue may take. A process that dies keeps others from it for so long. */
const DELIVERY_MS = 15_000;
/** How long the answer of a task waits for deliveries: its process may be killed after it. */
const FLUSH_MS = 1_000;

export interface WebhooksOfWorker {
  readonly world: World;
  /** Waits a moment for deliveries that are under way. */
  readonly flush: () => Promise<void>;
}

/** The world with its webhooks; as it is, if there are none. */
export function withWebhooks(world: World, endpoints: readonly Webhook[]): WebhooksOfWorker {
  if (endpoints.length === 0) return { world, flush: async () => undefined };
  let underWay: Promise<void> | null = null;
  const noted = (): void => {
    // What fails here, the next sweep repeats.
    const round = deliver().catch(() => undefined);
    underWay = round;
    void round.then(() => {
      if (underWay === round) underWay = null;
    });
  };
  const own: World = { ...world, webhooks: { endpoints, post: postWebhook, noted } };
  const deliver = deliveriesOf(own, () => ({ deadline: world.clock.now() + DELIVERY_MS, drain: NEVER }));
  const flush = async (): Promise<void> => {
    if (underWay === null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = world.clock.after(FLUSH_MS, resolve);
    await Promise.race([underWay, promise]);
    cancel();
  };
  return { world: own, flush };
}

const NEVER = new AbortController().signal;
