/** The circuits of webhooks as the store keeps them: each is the cursor of the mutex lease of its endpoint's queue. */
import * as z from "zod";
import { CLOSED, type WebhookCircuit } from "../protocol/webhook-circuit.ts";

const time = z.int().nonnegative();

const webhookCircuit: z.ZodType<WebhookCircuit> = z.strictObject({
  ...{ failures: z.int().nonnegative(), since: time, nextAt: time, recoveredAt: time },
  why: z.string().nullable(),
});

/** A circuit that cannot be read counts as closed: it spares requests, and no notification depends on it. */
export function circuitIn(cursor: string | null): WebhookCircuit {
  try {
    return cursor === null ? CLOSED : webhookCircuit.parse(JSON.parse(cursor));
  } catch {
    return CLOSED;
  }
}
