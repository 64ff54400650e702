/** The route `/mcp` of each server that has an API. The SDK of MCP is loaded with the first request. */
import type { Hono } from "hono";
import * as problems from "../../api/problem.ts";
import { CairnError } from "../../client/errors.ts";
import type { McpOverHttp } from "./http.ts";
import { loadMcp } from "./load.ts";
import { type OpenStreams, heldOpen } from "../../api/streams/open-streams.ts";
import { type ApiCalls, admit, endpointFor } from "../protocol-calls.ts";

/** Adds the route. Calls that last are ended with the streams of the server; their runs go on. */
export function addMcp(
  app: Pick<Hono, "all">,
  { calls, streams }: { readonly calls: ApiCalls; readonly streams: OpenStreams },
): void {
  let loading: Promise<McpOverHttp> | null = null;
  const load = async (): Promise<McpOverHttp> => {
    const { mcpOverHttp, ownVersion } = await loadMcp(async () => ({
      ...(await import("./http.ts")),
      ...(await import("./version.ts")),
    }));
    return mcpOverHttp({ endpointOf: (request) => endpointFor(calls, request), version: ownVersion() });
  };
  app.all("/mcp", async (c) => {
    const request = c.req.raw;
    const reader = await admit(request, calls);
    const { fetch } = await (loading ??= load()).catch((error: unknown) => {
      loading = null;
      throw error instanceof CairnError ? notInstalled(error) : error;
    });
    return heldOpen(streams, { reader, request }, fetch);
  });
}

const notInstalled = ({ message }: CairnError): problems.ApiProblem =>
  new problems.ApiProblem({
    status: 501,
    code: "PackageMissing",
    detail: `this server does not speak MCP: ${message}`,
  });
