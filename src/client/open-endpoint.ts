/** An endpoint over stores that this process opens: the API in memory, so that a store answers like a server. */
import { hostname, userInfo } from "node:os";
import { createApi } from "../api/app.ts";
import { DEFAULT_TENANT } from "../core/ids.ts";
import { SCOPES } from "../operations/operation.ts";
import { isAgent } from "../ports/is-agent.ts";
import type { StoreTarget } from "./targets.ts";
import { openNamedStore } from "./open-store.ts";
import type { Endpoint } from "./request.ts";
import { unlessAborted } from "../ports/unless-aborted.ts";

/** No request leaves the process. */
const URL_HERE = "http://cairn.local";

export async function openEndpoint<Known extends object>({
  store,
  world: name,
  agents,
  tenant = DEFAULT_TENANT,
  by = `${userInfo().username}@${hostname()}`,
}: StoreTarget<Known>): Promise<{ readonly endpoint: Endpoint; readonly close: () => Promise<void> }> {
  const opened = await openNamedStore({ store, world: name });
  const { world } = opened;
  const known = Object.values(agents ?? {}).filter(isAgent);
  const api = createApi<object>({
    world,
    agentOf: async (wanted) => known.find((agent) => agent.name === wanted) ?? null,
    callerOf: () => ({ tenant, actor: by, scopes: SCOPES }),
    baseOf: () => "",
  });
  const send = (request: Request) => unlessAborted(request.signal, async () => api.fetch(request, {}));
  return { endpoint: { url: URL_HERE, headers: () => ({}), send }, close: async () => opened.close() };
}
