/** Keeps which endpoints the config names, and says once what happens to the queue of one that it names no longer. */
import { alarm } from "../../history/alarm.ts";
import { isWaitingFor } from "./queues.ts";
import { endpointId, keepEndpoints } from "./endpoints.ts";
import type { Webhooks } from "../../ports/webhooks.ts";
import type { World } from "../../ports/world.ts";

export async function rememberEndpoints(world: World, { endpoints }: Webhooks): Promise<void> {
  const removed = await keepEndpoints(
    world,
    endpoints.map(({ url }) => url),
  );
  for (const { url } of removed) {
    if (!(await isWaitingFor(world, url))) continue;
    const what = `notifications to ${new URL(url).origin} are not sent: the config names it no longer`;
    const id = endpointId(world, url);
    const mend = `cairn webhooks redeliver ${id} --to ENDPOINT moves them to another one; else they expire after 30 days`;
    alarm(world, "", { what: "WebhookFailed", why: `${what}; ${mend}` });
  }
}
