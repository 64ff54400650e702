/**
 * Connects the route of a run's events to a function of Lambda that streams its response. A stream ends a moment before
 * the function times out, and its reader reconnects behind the last event that it has.
 */
// oxlint-disable-next-line typescript/no-deprecated -- its successor is in no package that we depend on
import { streamHandle } from "hono/aws-lambda";
import { Hono } from "hono";
import type { Api } from "../src/api/app.ts";
import * as problems from "../src/api/problem.ts";
import type { OperationRows } from "../src/api/routes.ts";
import { ROWS } from "../src/operations/table.ts";
import type { Clock } from "../src/ports/world.ts";
import { addEventStreams } from "../src/api/streams/routes.ts";
import { OpenStreams } from "../src/api/streams/open-streams.ts";
import { type FromGateway, type GatewayEvent, eventBelow } from "./gateway.ts";

/** The one operation of this function. */
export const EVENT_ROWS: OperationRows = { timeline: ROWS.timeline };

export interface FromReader extends FromGateway {
  /** False: a later page of a stream. */
  readonly isFirst?: boolean;
}

/** Time for the page that is under way when a stream ends. */
const CLOSING_MS = 5_000;

/**
 * The Lambda handler. A process serves one request at a time. A reader that leaves is noticed when the next text cannot
 * be written, or not at all, so each invocation closes what is still open.
 */
export function eventStreamsHandler(api: Api<FromReader>, { after }: Pick<Clock, "after">) {
  const streams = new OpenStreams();
  const app = new Hono<{ readonly Bindings: FromGateway }>();
  app.all("*", (c) => appFor(c.env, { api, streams }).fetch(c.req.raw));
  // oxlint-disable-next-line typescript/no-deprecated -- as above
  const answer = streamHandle(app) as unknown as LambdaStreamingHandler<GatewayEvent>;
  return awslambda.streamifyResponse<GatewayEvent>(async (event, response, context) => {
    const leftMs = Math.max(0, context.getRemainingTimeInMillis() - CLOSING_MS);
    const stay = after(leftMs, () => streams.closeAll());
    try {
      await answer(eventBelow(event), response, context);
    } finally {
      stay();
      streams.closeAll();
    }
  });
}

/** The routes for one request. Each page of its stream is asked for with the identity that API Gateway found. */
function appFor(
  { event }: FromGateway,
  { api, streams }: { readonly api: Api<FromReader>; readonly streams: OpenStreams },
): Hono {
  const app = new Hono();
  app.onError((error) => problems.answerOf(problems.asProblem(error), null));
  const ask = (page: Request, { isFirst }: { readonly isFirst: boolean }) => api.fetch(page, { event, isFirst });
  // A process has one reader, so none counts against another one: `concurrencyReserved.events` bounds them all.
  addEventStreams(app, { streams, ask, callerOf: async () => ({ tenant: "", actor: "" }) });
  app.all("*", (c) => api.fetch(c.req.raw, { event }));
  return app;
}
