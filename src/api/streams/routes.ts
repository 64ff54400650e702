/** The route of a run's events as a stream, for each server that has an API. Without the header, the API answers. */
import type { Hono } from "hono";
import { CURSOR } from "../../operations/live-cursor.ts";
import { streamEvents } from "./event-stream.ts";
import { pageWithin } from "./follow-run.ts";
import type { OpenStreams, Reader } from "./open-streams.ts";

/**
 * `ask` sends the request of one page to the API; `original` is the request of the stream, which identifies its caller.
 * Only the first page of a stream counts as a request. `callerOf` throws an `ApiProblem` if there is none.
 */
export function addEventStreams(
  app: Pick<Hono, "get">,
  {
    streams,
    ask,
    callerOf,
  }: {
    readonly streams: OpenStreams;
    readonly callerOf: (original: Request) => Promise<Reader["caller"]>;
    readonly ask: (
      page: Request,
      caller: { readonly original: Request; readonly isFirst: boolean },
    ) => Response | Promise<Response>;
  },
): void {
  app.get("/runs/:run/events", async (c, next) => {
    // The stream of a HEAD request would never be read, and so never be closed.
    const isStream = c.req.method === "GET" && /\btext\/event-stream\b/i.test(c.req.header("accept") ?? "");
    if (!isStream) return next();
    const { pathname } = new URL(c.req.url);
    const deltas = c.req.query("deltas") === "true";
    const given = c.req.header("last-event-id") ?? c.req.query("cursor") ?? c.req.query("after") ?? "0";
    const cursor = CURSOR.test(given) ? given : "0";
    // A reader that reconnects says which commit it has, so the index is only for its first connection.
    const isAgain = c.req.header("last-event-id") !== undefined;
    const startIndex = isAgain ? null : wholeNumberIn(c.req.query("startIndex") ?? "");
    let isFirst = true;
    const pageOf = (query: string) => {
      const page = new Request(new URL(`${pathname}${query}`, c.req.url), { headers: credentialsOf(c.req) });
      return pageWithin(page, (request) => {
        const answer = ask(request, { original: c.req.raw, isFirst });
        isFirst = false;
        return answer;
      });
    };
    const reader = { run: c.req.param("run"), caller: await callerOf(c.req.raw) };
    return streams.seated(reader, (seat) => streamEvents(pageOf, { cursor, deltas, startIndex, streams, seat }));
  });
}

/** The headers that identify a caller. */
export const credentialsOf = (request: { readonly header: (name: string) => string | undefined }) => ({
  authorization: request.header("authorization") ?? "",
});

export const wholeNumberIn = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null);
