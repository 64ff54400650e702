/**
 * The routes for the AI SDK's `useChat` with `WorkflowChatTransport`: a turn of a conversation, its stream, and the
 * messages that a page begins with. Each does what the API's own routes do, by asking them: the same callers, scopes and
 * refusals hold.
 */
import type { Context, Hono } from "hono";
import { boundedBody } from "../../api/body.ts";
import { wholeOf } from "./ui-messages.ts";
import {
  type ChatName,
  type ChatRoutes,
  answersAmong,
  asked,
  attached,
  chatRun,
  decideInChat,
  eventPagesOf,
  bodyIn,
  say,
} from "./chat-run.ts";
import { wholeNumberIn } from "../../api/streams/routes.ts";
import type { Seat } from "../../api/streams/open-streams.ts";
import { chatLogOf, messagesBefore, standing } from "./chat-log.ts";
import { type UiSaid, type SaidDecisions, saidIn } from "./ui-said.ts";
import { streamUi } from "./ui-stream.ts";

export function addUiRoutes(app: Pick<Hono, "get" | "post">, routes: ChatRoutes): void {
  app.get("/runs/:run/stream", (c) => streamed(c, routes, c.req.param("run")));
  app.get("/chat/:agent/:chat", (c) => history(c, routes));
  app.post("/chat/:agent/:chat", boundedBody, (c) => turn(c, routes));
  app.post("/chat/:agent/:chat/stop", boundedBody, (c) => stopped(c, routes));
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
  asks: { readonly stream: string; readonly seat: Seat; readonly headers?: object; readonly says?: string | null },
): Promise<Response> {
  const { stream, seat, headers = {}, says = null } = asks;
  const { streams } = routes;
  const { run, entry } = partsOf(stream);
  const startIndex = wholeNumberIn(c.req.query("startIndex") ?? "") ?? 0;
  // One request of a page counts once, however many pages of events and operations follow from it.
  const pageOf = eventPagesOf(c, routes, { run, isCounted: c.req.method === "GET" });
  return streamUi({ pageOf, run, entry, startIndex, streams, seat, says, headers: { ...headers } });
}

/** `POST /chat/{agent}/{chat}`: what the user said or decided, and the stream of what follows. */
async function turn(c: Context, routes: ChatRoutes): Promise<Response> {
  const said = saidIn(await bodyIn(c));
  const name = nameIn(c);
  const run = await chatRun(c, routes, name);
  const reader = { run, caller: await routes.callerOf(c.req.raw) };
  return routes.streams.seated(reader, async (seat) => {
    const refused = await attached(c, routes, run);
    if (refused !== null) return refused;
    const taken = await take(c, routes, { ...name, run, said });
    if (taken instanceof Response) return taken;
    const { entry, says } = taken;
    const stream = entry === null ? run : `${run}.${entry}`;
    return followed(c, routes, { stream, seat, says, headers: { "x-workflow-run-id": stream } });
  });
}

interface Taken {
  /** What the page follows; null: the last turn. */
  readonly entry: string | null;
  /** Why the page does not get what it asked for; null: it does. */
  readonly says: string | null;
}

async function take(
  c: Context,
  routes: ChatRoutes,
  chat: ChatName & { readonly run: string; readonly said: UiSaid },
): Promise<Taken | Response> {
  const { said, run } = chat;
  if (said.kind === "rest") return { entry: null, says: null };
  if (said.kind === "decisions") return given(c, routes, { run, ...said });
  if (said.anew !== null) {
    const log = await chatLogOf(c, routes, run);
    if (log instanceof Response) return log;
    const stands = log === null ? null : standing(log, said);
    if (stands !== null) return { entry: stands.isLast ? null : NOTHING, says: stands.why };
  }
  const sent = await say(c, routes, { ...chat, message: said });
  return sent instanceof Response ? sent : { entry: sent.entry, says: null };
}

/** An entry that no log has. */
const NOTHING = "nothing";

/** Decisions and answers of the page. An output that answers no question is one of cairn's own, and says nothing. */
async function given(
  c: Context,
  routes: ChatRoutes,
  told: SaidDecisions & { readonly run: string },
): Promise<Taken | Response> {
  const { run, decisions, outputs, isElsewhere } = told;
  const isAll = decisions.length === 0;
  const answers = outputs.length === 0 ? [] : await answersAmong(c, routes, { run, outputs, isAll });
  if (answers instanceof Response) return answers;
  const taken = await decideInChat(c, routes, { run, decisions: [...decisions, ...answers] });
  const nameOf = (entry: string): string => (isElsewhere ? wholeOf(entry) : entry);
  if (typeof taken === "string") return { entry: nameOf(taken), says: null };
  const last = decisions.at(-1);
  if (taken.status !== 409 || last === undefined) return taken;
  // The page shows how the call was decided instead, and why.
  const { detail = "" } = (await taken.json()) as { readonly detail?: string };
  return { entry: nameOf(last.entry), says: detail };
}

/** `POST /chat/{agent}/{chat}/stop`: ends the answer under way. The conversation waits for the next message. */
async function stopped(c: Context, routes: ChatRoutes): Promise<Response> {
  // A page of another site cannot send JSON unasked.
  await bodyIn(c);
  const run = await chatRun(c, routes, nameIn(c));
  const text = "I stopped this answer.";
  return asked(c, routes, { path: `/runs/${run}/messages`, body: { text, stop: true } });
}

/** `GET /chat/{agent}/{chat}`: the messages before the last answer, which the stream of the run gives. */
async function history(c: Context, routes: ChatRoutes): Promise<Response> {
  const run = await chatRun(c, routes, nameIn(c));
  const log = await chatLogOf(c, routes, run);
  if (log === null) return c.json({ run: null, messages: [] });
  if (log instanceof Response) return log;
  const messages = await messagesBefore(log, () => routes.streams.turns.next());
  const body = `{"run":${JSON.stringify(run)},"messages":[${messages.join(",")}]}`;
  return c.body(body, 200, { "content-type": "application/json" });
}
