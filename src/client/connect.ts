/** `connect`: a client for an API, or for a store that it opens itself. */
import { type Agents, type Client, createClient } from "./client.ts";
import { connectApi } from "./connect-api.ts";
import type { ApiTarget, StoreTarget } from "./targets.ts";

/**
 * Connects to an API, or opens a store. The types of the agents flow through: `connect<typeof agents>({ api })`, or
 * `connect({ store, agents })`.
 *
 * @throws CairnError with the code of the world's error if the store cannot be opened
 */
export async function connect<Known extends object = Agents>(
  target: ApiTarget | StoreTarget<Known>,
): Promise<Client<Known>> {
  if ("api" in target) return connectApi<Known>(target);
  const { openEndpoint } = await import("./open-endpoint.ts");
  const { endpoint, close } = await openEndpoint(target);
  return createClient<Known>(endpoint, close);
}
