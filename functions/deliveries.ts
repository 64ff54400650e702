/** How a beat asks the function of the sweeper to deliver what the beat has noted. */
import { type DeliveryRequests, deliveryRequests } from "../src/adapters/aws/delivery-requests.ts";
import { sweepFunction } from "./settings.ts";

/** The requests of a function that notes and may not deliver; null: the deployment has no webhooks. */
export function requestsToDeliver(): DeliveryRequests | null {
  const name = sweepFunction();
  return name === null ? null : deliveryRequests(name);
}
