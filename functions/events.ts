/** The function that streams the events of runs behind API Gateway. It knows no agent, and writes no run. */
import { tenantLimits } from "cairn-agents";
import { withKernel } from "../src/features/compose.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import { authenticatorOf } from "../src/api/access/authenticator.ts";
import { createApi } from "../src/api/app.ts";
import { EVENT_ROWS, type FromReader, eventStreamsHandler } from "./event-streams.ts";
import { baseOf, callerBy } from "./gateway.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { access, settingsOf } from "./settings.ts";

const world = withKernel(awsWorld({ ...settingsOf("events"), sealKeys: sealKeysOf() }));
const api = createApi<FromReader>({
  world,
  agentOf: async () => null,
  callerOf: callerBy(authenticatorOf(world, access())),
  isCounted: ({ isFirst = true }) => !isFirst,
  baseOf,
  limits: tenantLimits,
  rows: EVENT_ROWS,
});

export const handler = eventStreamsHandler(api, world.clock);
