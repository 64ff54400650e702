/**
 * MCP over HTTP (`POST /mcp`), as a fetch handler. Each request gets a server of its own, whose client asks the API with
 * the credentials of that request. So the API decides what a caller may do, as for every other route.
 */
import { type McpHttpHandler, createMcpHandler } from "@modelcontextprotocol/server";
import { createClient } from "../../client/client.ts";
import type { Endpoint } from "../../client/request.ts";
import { SIZES } from "../../codec/limits.ts";
import { cairnMcpServer } from "./server.ts";

export interface McpOverHttp {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly close: () => Promise<void>;
}

/** `endpointOf`: the API, with the credentials of this request. */
export function mcpOverHttp({
  endpointOf,
  version,
}: {
  readonly endpointOf: (request: Request) => Endpoint;
  readonly version: string;
}): McpOverHttp {
  const handler: McpHttpHandler = createMcpHandler(
    ({ era, requestInfo }) => {
      if (requestInfo === undefined) throw new Error("a request over HTTP has no request");
      return cairnMcpServer({ cairn: createClient(endpointOf(requestInfo)), era, version });
    },
    { maxRequestBodySize: SIZES.httpBodyBytesMax, maxSubscriptions: SUBSCRIPTIONS_MAX },
  );
  return { fetch: (request) => handler.fetch(request), close: () => handler.close() };
}

const SUBSCRIPTIONS_MAX = 64;
