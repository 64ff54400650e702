/** The function that streams events, over the world of a harness, with readers behind API Gateway. */
import { EVENT_ROWS, type FromReader, eventStreamsHandler } from "../../../functions/event-streams.ts";
import { baseOf, callerBy } from "../../../functions/gateway.ts";
import { tokenAuthenticator } from "../../../src/api/access/bearer.ts";
import { type ApiOptions, createApi } from "../../../src/api/app.ts";
import type { World } from "../../../src/ports/world.ts";
import type { Harness } from "../harness/harness.ts";
import { gatewayEvent } from "./gateway-event.ts";
import { type Streamed, invoke } from "./lambda-streams.ts";

/** Lambda's timeout of the function here: time enough for a stream to be quiet for a while. */
export const TIMEOUT_MS = 30_000;

interface AskedStream {
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly userArn?: null;
  readonly base?: string;
}

export interface ReaderOptions extends Pick<ApiOptions<FromReader>, "limits"> {
  /** Default: that of the harness. */
  readonly world?: World;
  /** Callers are known by their tokens; default: by the identity that signed. */
  readonly byToken?: true;
}

/** The global `awslambda` must be set before. */
export function eventReader(harness: Harness, { world = harness.world, byToken, ...limits }: ReaderOptions = {}) {
  const api = createApi<FromReader>({
    ...{ world, agentOf: async () => null, baseOf, rows: EVENT_ROWS, ...limits },
    callerOf: callerBy(byToken ? tokenAuthenticator(world) : null),
    isCounted: ({ isFirst = true }) => !isFirst,
  });
  const handler = eventStreamsHandler(api, world.clock);
  const open = (run: string, { headers = {}, ...of }: AskedStream = {}) => {
    const openedAt = harness.clock.now();
    const event = gatewayEvent({
      ...{ path: `/runs/${run}/events`, resource: "/runs/{run}/events", pathParameters: { run } },
      ...{ ...of, headers: { Accept: "text/event-stream", ...headers } },
    });
    return invoke(handler, { event, leftMs: () => openedAt + TIMEOUT_MS - harness.clock.now() });
  };
  const ask = (run: string, of?: AskedStream): Promise<Streamed> =>
    harness.advanceUntilSettled(open(run, of).response());
  return { open, ask };
}
