/** The endpoints that hear of the runs of a deployment. Beats note what happened, and the sweep delivers it. */
import { type DeliveryRequests, deliveryRequests } from "../src/adapters/aws/delivery-requests.ts";
import { postWebhook } from "../src/adapters/webhooks/post.ts";
import type { World } from "../src/ports/world.ts";
import { sweepFunction, webhooks } from "./settings.ts";

export function webhooksOf(noted: () => void = () => undefined): Pick<World, "webhooks"> {
  const endpoints = webhooks();
  return endpoints.length === 0 ? {} : { webhooks: { endpoints, post: postWebhook, noted } };
}

/** The requests of a function that notes and may not deliver; null: the deployment has no webhooks. */
export function requestsToDeliver(): DeliveryRequests | null {
  const name = sweepFunction();
  return name === null ? null : deliveryRequests(name);
}
