/** The endpoints that hear of the runs of a deployment. Beats note what happened, and the sweep delivers it. */
import { postWebhook } from "../src/adapters/webhooks/post.ts";
import type { World } from "../src/ports/world.ts";
import { webhooks } from "./settings.ts";

export function webhooksOf(noted: () => void = () => undefined): Pick<World, "webhooks"> {
  const endpoints = webhooks();
  return endpoints.length === 0 ? {} : { webhooks: { endpoints, post: postWebhook, noted } };
}
