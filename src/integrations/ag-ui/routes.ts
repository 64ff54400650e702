/**
 * The route for clients of AG-UI 1.0, such as `HttpAgent`: one run of the protocol, as server-sent events. It does what
 * the API's own routes do, by asking them. A request that is repeated has one effect, and gets the same events again.
 */
import type { Context, Hono } from "hono";
import { boundedBody } from "../../api/body.ts";
import { addCommits, agUiFold } from "./ag-ui-fold.ts";
import { type AgUiEvent, AgUiReader } from "./ag-ui-reader.ts";
import { dropChunks, liveStreamOf, segmentWith } from "../chat/ui-messages.ts";
import { type AgUiSaid, agUiSaidIn } from "./ag-ui-said.ts";
import {
  type ChatName,
  type ChatRoutes,
  attached,
  chatRun,
  decideInChat,
  eventPagesOf,
  bodyIn,
  say,
} from "../chat/chat-run.ts";
import { WITH_DELTAS, followRun, piecesOf } from "../../api/streams/follow-run.ts";
import type { Seat } from "../../api/streams/open-streams.ts";

export function addAgUiRoute(app: Pick<Hono, "post">, routes: ChatRoutes): void {
  app.post("/ag-ui/:agent", boundedBody, (c) => agUiRun(c, routes, c.req.param("agent")));
}

async function agUiRun(c: Context, routes: ChatRoutes, agent: string): Promise<Response> {
  const said = agUiSaidIn(await bodyIn(c));
  const { threadId } = said;
  const name = { agent, chat: threadId };
  const run = await chatRun(c, routes, name);
  const reader = { run, caller: await routes.callerOf(c.req.raw) };
  return routes.streams.seated(reader, (seat) => answered(c, routes, { said, name, run, seat }));
}

async function answered(
  c: Context,
  routes: ChatRoutes,
  ui: { readonly said: AgUiSaid; readonly name: ChatName; readonly run: string; readonly seat: Seat },
): Promise<Response> {
  const { said, name, run, seat } = ui;
  const { threadId, runId, messages, message, decisions } = said;
  const refused = await attached(c, routes, run);
  if (refused !== null) return refused;
  const decided = decisions.length === 0 ? null : await decideInChat(c, routes, { run, decisions });
  if (decided instanceof Response) return decided;
  const sent = message === null ? null : await say(c, routes, { ...name, run, message });
  if (sent instanceof Response) return sent;
  const entry = decided === null || sent?.isNew === true ? (sent?.entry ?? "") : decided;
  const fold = agUiFold(run);
  const reader = new AgUiReader(fold, { threadId, runId, messages });
  return followRun({
    ...WITH_DELTAS,
    pageOf: eventPagesOf(c, routes, { run, isCounted: false }),
    streams: routes.streams,
    seat,
    headers: {},
    opening: textOf([{ type: "RUN_STARTED", threadId, runId, protocolVersion: "1.0" }]),
    broken: textOf([BROKEN]),
    next: (page) => {
      addCommits(fold, page.entries);
      dropChunks(fold.ui, entry);
      if (page.more) return { pieces: [], isOver: false };
      const segment = liveStreamOf(fold.ui.segments, entry, segmentWith);
      if (segment === null) return { pieces: page.inProgress ? [] : [textOf([ABSENT])], isOver: !page.inProgress };
      return { pieces: piecesIn(reader.next(segment, page.live)), isOver: segment.isDone };
    },
  });
}

function* piecesIn(parts: Iterable<readonly AgUiEvent[]>): Generator<string, undefined> {
  for (const events of parts) yield* piecesOf(events, (event) => textOf([event]));
}

const textOf = (events: readonly AgUiEvent[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

const BROKEN: AgUiEvent = {
  type: "RUN_ERROR",
  code: "StreamBroken",
  message: "The server stopped to follow the run, which goes on: send the same request again.",
};

const ABSENT: AgUiEvent = {
  type: "RUN_ERROR",
  code: "RunEnded",
  message: "The run has ended, and what this stream follows is not in its log.",
};
