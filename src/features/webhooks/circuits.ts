/**
 * The circuits of webhooks as the store keeps them: each is the cursor of the mutex lease of its endpoint's queue.
 *
 * Schedule 273: an operator closes a circuit while a request to its endpoint is under way. The sender stores the
 * circuit as it was, with one failure more, when it gives up the lease. So the wish of the operator has a name of its own,
 * and every reader applies it.
 */
import * as z from "zod";
import type { World } from "../../ports/world.ts";
import { CLOSED, type WebhookCircuit, asWished } from "../../protocol/webhook-circuit.ts";
import { storeCursor } from "../../history/resolve-ambiguous-write.ts";

const time = z.int().nonnegative();

const webhookCircuit: z.ZodType<WebhookCircuit> = z.strictObject({
  failures: z.int().nonnegative(),
  since: time,
  nextAt: time,
  recoveredAt: time,
  why: z.string().nullable(),
});

/** A circuit that cannot be read counts as closed: it spares requests, and no notification depends on it. */
function circuitIn(cursor: string | null): WebhookCircuit {
  try {
    return cursor === null ? CLOSED : webhookCircuit.parse(JSON.parse(cursor));
  } catch {
    return CLOSED;
  }
}

const wishFor = (queue: string): string => `${queue} closed by hand`;

/** The circuit of the queue now. `cursor`: what its lease holds. */
export async function circuitNow(
  { leases }: Pick<World, "leases">,
  queue: string,
  cursor?: string | null,
): Promise<WebhookCircuit> {
  const [stored, wish] = await Promise.all([
    cursor === undefined ? leases.cursorOf(queue) : cursor,
    leases.cursorOf(wishFor(queue)),
  ]);
  return asWished(circuitIn(stored), Number(wish ?? 0) || 0);
}

/** Closes the circuit: what failed before is due at once. */
export async function closeByHand(world: Pick<World, "leases" | "clock" | "random">, queue: string): Promise<void> {
  await storeCursor(world, { name: wishFor(queue), cursor: String(world.clock.now()) });
}
