/** A client for an API. It needs nothing of Node. */
import { type Agents, type Client, createClient } from "./client.ts";
import type { Endpoint } from "./request.ts";
import type { ApiTarget } from "./targets.ts";

export const connectApi = <Known extends object = Agents>(target: ApiTarget): Client<Known> =>
  createClient<Known>(endpointOf(target));

function endpointOf({ api, token, fetch: send = (request) => fetch(request) }: ApiTarget): Endpoint {
  const headers = async (): Promise<Record<string, string>> => {
    const said = typeof token === "function" ? await token() : token;
    return said === undefined ? {} : { authorization: `Bearer ${said}` };
  };
  return { url: api, send, headers };
}
