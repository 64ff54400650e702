/**
 * Which webhooks accept nothing: their circuits are open, so that single notifications probe them. And which ones the config
 * names no longer, although something waits for them.
 */
import { queueTo } from "../features/webhooks/outbox.ts";
import { circuitNow } from "../features/webhooks/circuits.ts";
import { endpointId, knownEndpoints } from "../features/webhooks/endpoints.ts";
import { isWaitingFor } from "../features/webhooks/queues.ts";
import type { Webhook } from "../ports/webhooks.ts";
import type { World } from "../ports/world.ts";
import { isOpen } from "../protocol/webhook-circuit.ts";

/** An endpoint whose circuit is open. */
interface FailingWebhook {
  /** Its origin: a path may hold a token of the receiver. */
  readonly to: string;
  readonly failures: number;
  /** When the first of them failed, epoch milliseconds. */
  readonly since: number;
  readonly why: string;
}

export async function failingWebhooks(
  world: Pick<World, "leases" | "hash">,
  webhooks: readonly Pick<Webhook, "url">[],
): Promise<readonly FailingWebhook[]> {
  const all = await Promise.all(
    webhooks.map(async ({ url }): Promise<FailingWebhook | null> => {
      const circuit = await circuitNow(world, queueTo(world, url));
      if (!isOpen(circuit)) return null;
      const { failures, since, why } = circuit;
      return { to: new URL(url).origin, failures, since, why: why ?? "it does not answer" };
    }),
  );
  return all.flatMap((each) => each ?? []);
}

/** An endpoint of an earlier config: nothing is sent to it. */
interface RemovedWebhook {
  readonly id: string;
  readonly to: string;
}

export async function removedWebhooks(
  world: World,
  webhooks: readonly Pick<Webhook, "url">[],
): Promise<readonly RemovedWebhook[]> {
  const known = await knownEndpoints(world);
  const gone = known.filter(({ url }) => webhooks.every((each) => each.url !== url));
  const all = await Promise.all(
    gone.map(async ({ url }): Promise<RemovedWebhook | null> => {
      if (!(await isWaitingFor(world, url))) return null;
      return { id: endpointId(world, url), to: new URL(url).origin };
    }),
  );
  return all.flatMap((each) => each ?? []);
}
