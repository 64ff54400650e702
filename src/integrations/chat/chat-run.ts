/**
 * A conversation as the chat protocols address it: by its agent and a chat of the client's choice. What a client says
 * goes to the API's own routes, so the same callers, scopes and refusals hold.
 */
import type { Context } from "hono";
import { isDeepStrictEqual } from "node:util";
import { isName } from "../../core/ids.ts";
import type { Json } from "../../core/json.ts";
import type { OpenWait } from "../../operations/wait-views.ts";
import { answerEntry } from "./ui-messages.ts";
import { CHAT } from "../../api/chat/schemas.ts";
import * as problems from "../../api/problem.ts";
import type { OpenStreams, Reader } from "../../api/streams/open-streams.ts";
import { type PageOf, pageWithin } from "../../api/streams/follow-run.ts";
import { credentialsOf } from "../../api/streams/routes.ts";
import { traceHeadersIn } from "../protocol-calls.ts";

export interface ChatRoutes {
  readonly streams: OpenStreams;
  /** Throws an `ApiProblem` if the request has no caller. */
  readonly callerOf: (original: Request) => Promise<Reader["caller"]>;
  /**
   * Sends a request to the API. `original` identifies the caller; `isFirst`: the request counts for the caller's limits.
   */
  readonly ask: (
    request: Request,
    caller: { readonly original: Request; readonly isFirst: boolean },
  ) => Response | Promise<Response>;
  /** The ID of the run that the caller's key of that agent names. */
  readonly runOf: (original: Request, named: { readonly agent: string; readonly key: string }) => Promise<string>;
}

export interface ChatName {
  readonly agent: string;
  /** 1 to 64 letters, digits, `-` and `_`. */
  readonly chat: string;
}

const keyOf = (chat: string): string => `chat-${chat}`;

/** The run of the chat, which may not exist yet. Throws an `ApiProblem` if nothing can have that name. */
export async function chatRun(c: Context, { runOf }: ChatRoutes, { agent, chat }: ChatName): Promise<string> {
  if (!isName(agent) || !CHAT.test(chat)) throw problems.runUnknown();
  return runOf(c.req.raw, { agent, key: keyOf(chat) });
}

/** The body. A page of another site cannot send JSON unasked. Throws an `ApiProblem`. */
export async function bodyIn(c: Context): Promise<unknown> {
  if (!/[/+]json\b/i.test(c.req.header("content-type") ?? "")) throw problems.notJson();
  return c.req.json().catch(() => {
    throw problems.badJson();
  });
}

interface AskedFor {
  readonly path: string;
  readonly body?: Json;
  readonly key?: string;
  readonly isFirst?: boolean;
}

/** One request to the API on behalf of the caller. */
export async function asked(c: Context, { ask }: ChatRoutes, wanted: AskedFor): Promise<Response> {
  return ask(requestOf(c, wanted), { original: c.req.raw, isFirst: wanted.isFirst ?? true });
}

function requestOf(c: Context, { path, body, key }: AskedFor): Request {
  const headers = {
    ...credentialsOf(c.req),
    ...traceHeadersIn(c.req.raw.headers),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(key === undefined ? {} : { "idempotency-key": key }),
  };
  const sent = body === undefined ? { headers } : { method: "POST", body: JSON.stringify(body), headers };
  return new Request(new URL(path, c.req.url), sent);
}

/** Pages of the run's events. Only the first page may count as a request of the caller. */
export function eventPagesOf(
  c: Context,
  routes: ChatRoutes,
  { isCounted, run }: { readonly run: string; readonly isCounted: boolean },
): PageOf {
  let isFirst = isCounted;
  return (query) => {
    const request = requestOf(c, { path: `/runs/${encodeURIComponent(run)}/events${query}` });
    return pageWithin(request, (page) => {
      const answer = routes.ask(page, { original: c.req.raw, isFirst });
      isFirst = false;
      return answer;
    });
  };
}

/**
 * Attaches the client as a reader. A model call streams only to a reader that is attached when it leaves. Returns the
 * API's refusal; null also if the run does not exist yet.
 */
export async function attached(c: Context, routes: ChatRoutes, run: string): Promise<Response | null> {
  const path = `/runs/${run}/events?deltas=true&wait=0&bytesMax=1`;
  const found = await asked(c, routes, { path, isFirst: false });
  return found.status === 200 || found.status === 404 ? null : found;
}

/**
 * Says something in a chat: the first message starts the run, a later one is sent to it, and the same ID twice is one
 * message. Returns the API's refusal if it is not taken.
 */
export async function say(
  c: Context,
  routes: ChatRoutes,
  said: ChatName & {
    readonly run: string;
    readonly message: { readonly id: string; readonly text: string; readonly isFirst: boolean };
  },
): Promise<SentMessage | Response> {
  const { run, agent, chat } = said;
  const { id, text, isFirst } = said.message;
  if (isFirst) {
    const started = await asked(c, routes, { path: "/runs", body: { agent, input: text }, key: keyOf(chat) });
    if (started.ok) return { entry: "task", isNew: started.status === ACCEPTED };
    // The chat began with another message, which the client does not show any more.
    const trouble = (await started.clone().json()) as { readonly code?: string };
    if (trouble.code !== "KeyConflict") return started;
  }
  const sent = await asked(c, routes, { path: `/runs/${run}/messages`, body: { text, id } });
  return sent.ok ? { entry: id, isNew: sent.status === ACCEPTED } : sent;
}

/** A message that the run has. */
interface SentMessage {
  /** The entry of the log that the client follows. */
  readonly entry: string;
  /** The run did not have it before. */
  readonly isNew: boolean;
}

const ACCEPTED = 202;

/** What `addToolOutput` gave to a call, or what the server itself had sent. */
export interface CallOutput {
  readonly call: string;
  readonly output: Json;
}

/** What a human decided about a call that waits. */
export interface ChatDecision {
  /** The entry of the log that it makes: its gate, or its answer. */
  readonly entry: string;
  /** Its path below the run. */
  readonly path: string;
  readonly body: Json;
}

/** The entry that an answer to this call makes, and where the answer goes. */
export const answerTo = (call: string, result: Json): ChatDecision => ({
  entry: answerEntry(call),
  path: `answers/${encodeURIComponent(call)}`,
  body: { result },
});

/**
 * The answers among the outputs of a page's last step, which shows what cairn's own tools returned in the same way: those
 * of calls that wait for one. If none waits, a page that decides nothing else repeats its request by its last output.
 */
export async function answersAmong(
  c: Context,
  routes: ChatRoutes,
  { run, outputs, isAll }: { readonly run: string; readonly outputs: readonly CallOutput[]; readonly isAll: boolean },
): Promise<readonly ChatDecision[] | Response> {
  const shown = await asked(c, routes, { path: `/runs/${run}`, isFirst: false });
  if (!shown.ok) return shown;
  const { waits } = (await shown.json()) as { readonly waits: readonly OpenWait[] };
  const asks = new Set(waits.filter((wait) => wait.for === "answer" && !wait.answered).map(({ call }) => call));
  const given = outputs.filter(({ call }) => asks.has(call));
  const sent = given.length > 0 || !isAll ? given : outputs.slice(-1);
  return sent.map(({ call, output }) => answerTo(call, output));
}

/**
 * Sends the decisions. Each counts once: one that the run has already is no error. Returns the entry that the client
 * follows, or the API's refusal if no decision was taken.
 */
export async function decideInChat(
  c: Context,
  routes: ChatRoutes,
  { decisions, run }: { readonly run: string; readonly decisions: readonly ChatDecision[] },
): Promise<string | Response> {
  let last: string | Response | null = null;
  for (const { entry, path, body } of decisions) {
    const answer = await asked(c, routes, { path: `/runs/${run}/${path}`, body });
    // What does not fit is to be mended by its client, whatever else was taken.
    if (answer.status === 422) return answer;
    if (answer.ok || (await isSame(answer, body))) last = entry;
    else last ??= answer;
  }
  return last ?? "task";
}

/** Whether the API refused because the run has this very decision or answer already: the client repeats its request. */
async function isSame(answer: Response, body: Json): Promise<boolean> {
  if (answer.status !== 409) return false;
  const { code, outcome } = (await answer.clone().json()) as {
    readonly code?: string;
    readonly outcome?: {
      readonly decision?: { readonly as: string; readonly args: Json } | null;
      readonly answer?: { readonly result: Json } | null;
    };
  };
  if (code !== "Duplicate") return false;
  const sent = body as { readonly as?: string; readonly args?: Json; readonly result?: Json };
  const { decision, answer: first } = outcome ?? {};
  if (first) return isDeepStrictEqual(first.result, sent.result);
  return decision?.as === sent.as && isDeepStrictEqual(decision?.args, sent.args ?? null);
}
