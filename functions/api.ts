/** The function that serves the HTTP API behind API Gateway. */
import { withKernel } from "../src/features/compose.ts";
import { tenantLimits } from "cairn-agents";
import { placesIn } from "../src/adapters/aws/places.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { authenticatorOf } from "../src/api/access/authenticator.ts";
import { createApi } from "../src/api/app.ts";
import { nextFirings } from "../src/features/schedules/firing-times.ts";
import { withConsole } from "./console.ts";
import { definedAgent, definedAgents } from "./defined-agent.ts";
import { type FromGateway, GATEWAY_ROWS, baseOf, callerBy, gatewayHandler } from "./gateway.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { access, settingsOf } from "./settings.ts";

const world = withKernel(
  awsWorld({ ...settingsOf("api"), secrets: secretsOf(), sealKeys: sealKeysOf(), places: placesIn }),
);
const api = createApi<FromGateway>({
  world,
  agentOf: definedAgent,
  agents: definedAgents,
  firingsOf: nextFirings,
  attendant: () => ({ id: "aws", name: "the deployed functions" }),
  callerOf: callerBy(authenticatorOf(world, access())),
  baseOf,
  limits: tenantLimits,
  rows: GATEWAY_ROWS,
});

export const handler = gatewayHandler(withConsole(api));
