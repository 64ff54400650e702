/**
 * `cairn-run/client` for bundlers of browser code: no module of it imports a store. A bundler follows an import that is
 * never run, and fails at the modules of Node that a store needs.
 */
import type { Agents, Client } from "./client.ts";
import { connectApi } from "./connect-api.ts";
import { CairnError } from "./errors.ts";
import type { ApiTarget } from "./targets.ts";

export { CairnError };

/**
 * Connects to an API.
 *
 * @throws CairnError `StoreInBrowser` for a store
 */
export async function connect<Known extends object = Agents>(target: ApiTarget): Promise<Client<Known>> {
  if ("api" in target) return connectApi<Known>(target);
  const message = 'a browser cannot open a store: connect to the API of a server, with `{ api: "https://…" }`';
  throw new CairnError(message, { code: "StoreInBrowser", status: null });
}
