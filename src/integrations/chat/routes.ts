/**
 * The routes for the AI SDK's `useChat` with `WorkflowChatTransport`: a turn of a conversation, its stream, and the
 * messages that a page begins with. Each does what the API's own routes do, by asking them: the same callers, scopes and
 * refusals hold.
 */
import type { Context, Hono } from "hono";
import type { Json } from "../../core/json.ts";
import { boundedBody } from "../../api/body.ts";
import { assistantMessage, userMessage } from "./ui-history.ts";
import { addEntries, streamOf, uiFold } from "./ui-messages.ts";
import type { EventPage } from "../../operations/event-page.ts";
import {
  type ChatName,
  type ChatRoutes,
  asked,
  answersAmong,
  attached,
  chatRun,
  decide,
  pagesOf,
  jsonIn,
  say,
} from "./chat-run.ts";
import { wholeNumber } from "../../api/streams/routes.ts";
import type { Seat } from "../../api/streams/open-streams.ts";
import { type Said, saidIn } from "./ui-said.ts";
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
async function streamed(c: Context, routes: ChatRoutes, stream: string): Promise<Response> {
  // The stream of a HEAD request would never be read, and so never be closed.
  if (c.req.method === "HEAD") return c.body(null, 405, { allow: "GET" });
  const reader = { run: partsOf(stream).run, caller: await routes.callerOf(c.req.raw) };
  return routes.streams.seated(reader, (seat) => followed(c, routes, { stream, seat }));
}

function partsOf(stream: string): { readonly run: string; readonly entry: string | null } {
  const dot = stream.indexOf(".");
  return dot === -1 ? { run: stream, entry: null } : { run: stream.slice(0, dot), entry: stream.slice(dot + 1) };
}

function followed(
  c: Context,
  routes: ChatRoutes,
  { stream, seat, headers = {} }: { readonly stream: string; readonly seat: Seat; readonly headers?: object },
): Promise<Response> {
  const { streams } = routes;
  const { run, entry } = partsOf(stream);
  const startIndex = wholeNumber(c.req.query("startIndex") ?? "") ?? 0;
  // One request of a page counts once, however many pages of events and operations follow from it.
  const pageOf = pagesOf(c, routes, { run, isCounted: c.req.method === "GET" });
  return streamUi({ pageOf, run, entry, startIndex, streams, seat, headers: { ...headers } });
}

/** `POST /chat/{agent}/{chat}`: what the user said or decided, and the stream of what follows. */
async function turn(c: Context, routes: ChatRoutes): Promise<Response> {
  const said = saidIn(await jsonIn(c));
  const name = nameIn(c);
  const run = await chatRun(c, routes, name);
  const reader = { run, caller: await routes.callerOf(c.req.raw) };
  return routes.streams.seated(reader, async (seat) => {
    const refused = await attached(c, routes, run);
    if (refused !== null) return refused;
    const told =
      said.kind === "message"
        ? await say(c, routes, { ...name, run, message: said })
        : await given(c, routes, { run, ...said });
    if (typeof told !== "string") return told;
    const stream = `${run}.${told}`;
    return followed(c, routes, { stream, seat, headers: { "x-workflow-run-id": stream } });
  });
}

/** Decisions and answers of the page. An output that answers no question is one of cairn's own, and says nothing. */
async function given(
  c: Context,
  routes: ChatRoutes,
  { run, decisions, outputs }: Extract<Said, { kind: "decisions" }> & { readonly run: string },
): Promise<string | Response> {
  const isAll = decisions.length === 0;
  const answers = outputs.length === 0 ? [] : await answersAmong(c, routes, { run, outputs, isAll });
  if (answers instanceof Response) return answers;
  return decide(c, routes, { run, decisions: [...decisions, ...answers] });
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
  const turns = Map.groupBy(fold.segments, ({ turn: number }) => number);
  const places = new Map([...texts.keys()].map((id, place) => [id, place]));
  const last = fold.segments.at(-1)?.turn ?? 1;
  const messages: string[] = [];
  for (let number = 1; number <= last; number += 1) {
    await routes.streams.turns.next();
    const own = turns.get(number) ?? [];
    const begun = [...new Set(own.flatMap(({ entries }) => entries))].filter((id) => places.has(id));
    const asks = begun.toSorted((one, other) => (places.get(one) ?? 0) - (places.get(other) ?? 0));
    const said = number === last ? null : streamOf(own, null);
    const told = asks.map((id) => userMessage(id, texts.get(id) ?? ""));
    messages.push(
      ...[...told, ...(said === null ? [] : [assistantMessage(said.chunks)])].map((each) => JSON.stringify(each)),
    );
  }
  const body = `{"run":${JSON.stringify(run)},"messages":[${messages.join(",")}]}`;
  return c.body(body, 200, { "content-type": "application/json" });
}
