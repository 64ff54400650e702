/** Which webhooks accept nothing: their circuits are open, so that single notifications probe them. */
import { queueTo } from "../history/outbox.ts";
import { circuitIn } from "../history/webhook-circuits.ts";
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
      const circuit = circuitIn(await world.leases.cursorOf(queueTo(world, url)));
      if (!isOpen(circuit)) return null;
      const { failures, since, why } = circuit;
      return { to: new URL(url).origin, failures, since, why: why ?? "it does not answer" };
    }),
  );
  return all.flatMap((each) => each ?? []);
}
