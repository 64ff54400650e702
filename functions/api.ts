/** The function that serves the HTTP API behind API Gateway. */
import { awsWorld } from "../src/adapters/aws/world.ts";
import { createApi } from "../src/api/app.ts";
import { definedAgent, definedAgents } from "./defined-agent.ts";
import { type FromGateway, GATEWAY_ROWS, baseOf, callerOf, gatewayHandler } from "./gateway.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { settingsOf } from "./settings.ts";

const world = awsWorld({ ...settingsOf("api"), secrets: secretsOf(), sealKeys: sealKeysOf() });
const api = createApi<FromGateway>({
  world,
  agentOf: definedAgent,
  agents: definedAgents,
  callerOf,
  baseOf,
  rows: GATEWAY_ROWS,
});

export const handler = gatewayHandler(api);
