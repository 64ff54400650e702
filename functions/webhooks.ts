/** The endpoints that hear of the runs of a deployment. The sweep delivers to them; beats only note what happened. */
import { postWebhook } from "../src/adapters/webhooks/post.ts";
import type { World } from "../src/ports/world.ts";
import { webhooks } from "./settings.ts";

export function webhooksOf(): Pick<World, "webhooks"> {
  const endpoints = webhooks();
  return endpoints.length === 0 ? {} : { webhooks: { endpoints, post: postWebhook, noted: () => undefined } };
}
