/**
 * The routes for the AI SDK's `useChat` with `WorkflowChatTransport`: a turn of a conversation, its stream, and the
 * messages that a page begins with. Each does what the API's own routes do, by asking them: the same callers, scopes and
 * refusals hold.
 */
import type { Context, Hono } from "hono";
import type { Json } from "../core/json.ts";
import { boundedBody } from "../api/body.ts";
import { assistantMessage, userMessage } from "../api/projections/ui-history.ts";
import { addEntries, streamOf, uiFold } from "../api/projections/ui-messages.ts";
import type { EventPage } from "../operations/event-page.ts";
import { type ChatName, type ChatRoutes, asked, attached, chatRun, decide, pagesOf, jsonIn, say } from "./chat-run.ts";
import { tooManyStreams, wholeNumber } from "./event-route.ts";
import { saidIn } from "./ui-said.ts";
import { streamUi } from "./ui-stream.ts";

export function addUiRoutes(app: Pick<Hono, "get" | "post">, routes: ChatRoutes): void {
  app.get("/runs/:run/stream", (c) => streamed(c, routes, c.req.param("run")));
  app.get("/chat/:agent/:chat", (c) => history(c, routes));
  app.post("/chat/:agent/:chat", boundedBody, (c) => turn(c, routes));
  // The transport asks for the stream that the last turn named, or for the chat itself after a reload.
  app.get("/chat/:agent/:chat/:stream/stream", async (c) => {
    const { chat, stream } = c.req.param();
    return streamed(c, routes, stream === chat ? await chatRun(c, routes, nameIn(c)) : stream);
  });
}

function nameIn(c: Context): ChatName {
  const { agent = "", chat = "" } = c.req.param() as Record<string, string>;
  return { agent, chat };
}

/** `stream`: a run, and after a dot what the reader follows of it. */
async function streamed(c: Context, routes: ChatRoutes, stream: string, headers = {}): Promise<Response> {
  const { streams } = routes;
  // The stream of a HEAD request would never be read, and so never be closed.
  if (c.req.method === "HEAD") return c.body(null, 405, { allow: "GET" });
  if (streams.isFull) throw tooManyStreams(streams);
  const dot = stream.indexOf(".");
  const run = dot === -1 ? stream : stream.slice(0, dot);
  const entry = dot === -1 ? null : stream.slice(dot + 1);
  const startIndex = wholeNumber(c.req.query("startIndex") ?? "") ?? 0;
  // One request of a page counts once, however many pages of events and operations follow from it.
  const pageOf = pagesOf(c, routes, { run, isCounted: c.req.method === "GET" });
  return streamUi({ pageOf, run, entry, startIndex, streams, headers });
}

/** `POST /chat/{agent}/{chat}`: what the user said or decided, and the stream of what follows. */
async function turn(c: Context, routes: ChatRoutes): Promise<Response> {
  const said = saidIn(await jsonIn(c));
  const name = nameIn(c);
  const run = await chatRun(c, routes, name);
  if (routes.streams.isFull) throw tooManyStreams(routes.streams);
  const refused = await attached(c, routes, run);
  if (refused !== null) return refused;
  const told =
    said.kind === "message"
      ? await say(c, routes, { ...name, run, message: said })
      : await decide(c, routes, { run, decisions: said.decisions });
  if (typeof told !== "string") return told;
  const stream = `${run}.${told}`;
  return streamed(c, routes, stream, { "x-workflow-run-id": stream });
}

/** `GET /chat/{agent}/{chat}`: the messages before the last answer, which the stream of the run gives. */
async function history(c: Context, routes: ChatRoutes): Promise<Response> {
  const run = await chatRun(c, routes, nameIn(c));
  const shown = await asked(c, routes, { path: `/runs/${run}` });
  if (shown.status === 404) return c.json({ run: null, messages: [] });
  if (!shown.ok) return shown;
  const { task } = (await shown.json()) as { readonly task: Json };
  const fold = uiFold(run);
  const texts = new Map([["task", typeof task === "string" ? task : JSON.stringify(task)]]);
  for (let after = 0, isMore = true; isMore;) {
    const answer = await asked(c, routes, { path: `/runs/${run}/events?after=${after}&wait=0`, isFirst: false });
    if (!answer.ok) return answer;
    const page = (await answer.json()) as EventPage;
    addEntries(fold, page.entries);
    for (const entry of page.entries) {
      if (entry.kind !== "MessageAbsorbed" || entry.stage !== "taken" || !("text" in entry.body)) continue;
      texts.set(entry.message.replace(/^user#/, ""), entry.body.text);
    }
    [after, isMore] = [page.next, page.more];
  }
  const last = fold.segments.at(-1)?.turn ?? 1;
  const messages = Array.from({ length: last }, (_, index) => index + 1).flatMap((number) => {
    const own = fold.segments.filter(({ turn: of }) => of === number);
    const begun = new Set(own.flatMap(({ entries }) => entries));
    const asks = [...texts].flatMap(([id, text]) => (begun.has(id) ? [userMessage(id, text)] : []));
    const said = number === last ? null : streamOf(own, null);
    return [...asks, ...(said === null ? [] : [assistantMessage(said.chunks)])];
  });
  return c.json({ run, messages });
}
