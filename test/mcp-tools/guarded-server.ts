/** An MCP server over HTTP that takes only bearer tokens which the test calls valid. */
import { serve } from "@hono/node-server";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";

export interface GuardedServer {
  readonly url: string;
  /** The tokens that it takes. */
  readonly valid: Set<string>;
  /** What it answers to others, and the challenge. */
  refusal: { readonly status: number; readonly challenge: string };
  /** How many connections it took. */
  connections: number;
  /** Its calls do not end before. */
  held: Promise<unknown>;
  /** The tokens of the calls that it took. */
  readonly calls: string[];
  /** The tokens that it refused. */
  readonly refused: (string | null)[];
}

/** Its tool `look` returns the token of the call, as a careless server may. */
export async function guardedServer(valid: readonly string[] = []): Promise<GuardedServer> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const state = { valid: new Set(valid), calls: [] as string[], refused: [] as (string | null)[] };
  const handler = createMcpHandler(({ requestInfo }) => {
    const server = new McpServer({ name: "guarded", version: "1" }, { capabilities: { tools: {} } });
    const annotations = { readOnlyHint: true };
    server.registerTool("look", { inputSchema: z.object({ text: z.string() }), annotations }, async () => {
      const token = tokenIn(requestInfo) ?? "";
      state.calls.push(token);
      await guarded.held;
      return { content: [{ type: "text", text: `seen with ${token}` }] };
    });
    return server;
  });
  const guarded: GuardedServer = { ...state, url: "", refusal: EXPIRED, held: Promise.resolve(), connections: 0 };
  const listening = serve(
    {
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const token = tokenIn(request);
        if (token !== null && state.valid.has(token)) {
          if (request.headers.get("mcp-method") === "server/discover") guarded.connections += 1;
          return handler.fetch(request);
        }
        state.refused.push(token);
        const { status, challenge } = guarded.refusal;
        return new Response("no", { status, headers: { "www-authenticate": challenge } });
      },
    },
    ({ port }) => resolve(port),
  );
  onTestFinished(async () => {
    listening.close();
    (listening as unknown as { closeAllConnections: () => void }).closeAllConnections();
    await handler.close();
  });
  return Object.assign(guarded, { url: `http://127.0.0.1:${await promise}/mcp` });
}

const EXPIRED = {
  status: 401,
  challenge:
    'Bearer error="invalid_token", error_description="The access token expired", ' +
    'resource_metadata="http://127.0.0.1/.well-known/oauth-protected-resource"',
};

const tokenIn = (request: Pick<Request, "headers"> | undefined): string | null =>
  /^Bearer (.+)$/.exec(request?.headers.get("authorization") ?? "")?.[1] ?? null;
