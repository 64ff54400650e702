/** A server that stands in for API Gateway: it calls a handler with its events, below the path of a stage. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { withConsole } from "../../../functions/console.ts";
import {
  type FromGateway,
  GATEWAY_ROWS,
  type GatewayEvent,
  baseOf,
  callerBy,
  gatewayHandler,
} from "../../../functions/gateway.ts";
import { consoleModule } from "../../../infra/console-module.ts";
import { tokenAuthenticator } from "../../../src/api/access/bearer.ts";
import { type ApiOptions, createApi } from "../../../src/api/app.ts";
import type { World } from "../../../src/ports/world.ts";
import { gatewayEvent } from "./gateway-event.ts";

interface Answered {
  readonly statusCode: number;
  readonly body: string;
  readonly isBase64Encoded: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, string[]>>;
}

/** The stage. It is a part of every path, as it is without a domain of one's own. */
const BASE = "/prod";

/**
 * Starts it. It has the routes of a deployment with the console: `GET /`, and every path below. Returns the address that a
 * deployment prints. It ends with the test.
 */
async function startGateway(handler: (event: GatewayEvent) => Promise<Answered>): Promise<string> {
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://gateway");
    const { method = "GET" } = request;
    const path = pathname.slice(BASE.length);
    if (!pathname.startsWith(`${BASE}/`) || (path === "/" && method !== "GET")) {
      response.writeHead(403).end('{"message":"Missing Authentication Token"}');
      return;
    }
    const body = (await buffer(request)).toString();
    const event = gatewayEvent({
      ...{ method, path: decodeURIComponent(path), resource: path === "/" ? "/" : "/{proxy+}", base: BASE },
      headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
      query: Object.fromEntries(searchParams),
      ...{ body: body === "" ? null : body, userArn: null },
    });
    const answer = await handler(event);
    response.writeHead(answer.statusCode, { ...answer.headers, ...answer.multiValueHeaders });
    response.end(Buffer.from(answer.body, answer.isBase64Encoded ? "base64" : "utf8"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${BASE}/`;
}

/** The API of a deployment with the console, whose callers have access tokens. */
export async function startConsoleSite(world: World, agentOf: ApiOptions<FromGateway>["agentOf"]): Promise<string> {
  const callerOf = callerBy(tokenAuthenticator(world));
  const api = createApi<FromGateway>({ world, agentOf, callerOf, baseOf, rows: GATEWAY_ROWS });
  // The module as a deployment bundles it.
  const code = Buffer.from(await consoleModule(true)).toString("base64");
  const { files } = (await import(`data:text/javascript;base64,${code}`)) as {
    readonly files: Readonly<Record<string, string>>;
  };
  return startGateway(gatewayHandler(withConsole(api, async () => files)));
}
