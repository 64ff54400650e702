/**
 * `cairn-run/server`: the HTTP API as a fetch handler, to mount in a server of one's own. The user's server decides who
 * the caller is. Without a decision nothing is answered, because a caller could steer the runs of every tenant.
 */
import { getRequestListener } from "@hono/node-server";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tokenAuthenticator } from "../api/access/bearer.ts";
import type { Caller, Credentials } from "../api/access/caller.ts";
import { createApi } from "../api/app.ts";
import * as problems from "../api/problem.ts";
import type { Agent } from "../ports/agent.ts";
import type { Clock } from "../ports/world.ts";
import { agentToStart } from "../compose/agent-to-start.ts";
import { checkGiven, entryIn, nothingToDrive } from "../compose/given-agents.ts";
import { catalogueOf } from "../compose/catalogue.ts";
import { type Opened, openSettled } from "../compose/open.ts";
import { settingsOf } from "../compose/settings.ts";
import { isTenant } from "../core/ids.ts";
import { runId } from "../protocol/ids.ts";
import { asClientErrors, storeFlags, surroundingsOf } from "../client/open-store.ts";
import type { DriveOptions, Driving } from "./worker.ts";
import { AGENTS, type FormsOf, checkEmbeddingOptions } from "./checked-options.ts";
import { FLAG, FUNCTION, RECORD, TEXT, anyForm, oneOf } from "../sdk/option-forms.ts";
import { nextFirings } from "../features/schedules/firing-times.ts";
import { registerResolution } from "../sdk/resolution.ts";
import { addA2a } from "../integrations/a2a/routes.ts";
import { addAgUiRoute } from "../integrations/ag-ui/routes.ts";
import type { ChatRoutes } from "../integrations/chat/chat-run.ts";
import { addConsole } from "../server/console-files.ts";
import { addEventStreams } from "../api/streams/routes.ts";
import { serverApp } from "../server/server-app.ts";
import { addUiRoutes } from "../integrations/chat/routes.ts";
import { OpenStreams, type UnreadStream } from "../api/streams/open-streams.ts";
import { Turns, worldInTurns } from "../api/streams/turns.ts";
import { closeIfUnread } from "../server/unread.ts";
import { parsedOption } from "../sdk/issues.ts";
import { type ReaderOptions, readersSchema } from "../sdk/readers.ts";
import { addMcp } from "../integrations/mcp/routes.ts";
import { type ApiCalls, credentialsIn } from "../integrations/protocol-calls.ts";

export type { Caller } from "../api/access/caller.ts";
export type { Scope } from "../operations/operation.ts";
export { SCOPES } from "../operations/operation.ts";
export { CairnError } from "../client/errors.ts";

export interface ServerOptions {
  /**
   * Who sends a request. `tokens`: the owner of the access token in its header (`cairn token`). A function returns the
   * caller, or null to refuse the request. It is asked again for each second of a stream.
   */
  readonly auth: "tokens" | ((request: Request) => Caller | null | Promise<Caller | null>);
  /** The path at which the handler is mounted, such as `/cairn`; default: at the root. */
  readonly base?: string;
  /**
   * Whether the console is served at `base` with a slash behind it; default: true. Its files hold no data, so `auth` is
   * not asked for them. With cookies of your login it works as it is; otherwise it asks for an access token.
   */
  readonly console?: boolean;
  /** The directory of the local store. Default: from the environment, then the config, then `.cairn`. */
  readonly store?: string;
  /** The name of a world, such as `aws`; its settings come from the environment, as for the command line. */
  readonly world?: string;
  /** The folder of `cairn.config.ts`, whose agents may be started; default: the current one. */
  readonly cwd?: string;
  /**
   * The agents that may be started, as objects: for a program that is bundled, and has neither agent files nor a config.
   * Then `cairn.config.ts` is not read. What drives the store has to know them too (`driveStore({ agents, entry })`).
   */
  readonly agents?: readonly Agent[];
  /**
   * `in this process`: it also drives the store, with the beats of `agents` in this process, as `driveStore` does with the
   * same option. Default: it drives nothing.
   */
  readonly beats?: DriveOptions["beats"];
  /** How many readers it follows runs for, and when one that takes nothing is closed; default: as in `cairn.config.ts`. */
  readonly readers?: ReaderOptions;
  /** Hears of each reader that was closed since it took nothing; default: nobody does. */
  readonly onUnread?: (closed: UnreadStream) => void;
}

const FORMS: FormsOf<ServerOptions> = {
  auth: anyForm(oneOf("tokens"), FUNCTION),
  base: TEXT,
  console: FLAG,
  store: TEXT,
  world: TEXT,
  cwd: TEXT,
  agents: AGENTS,
  beats: oneOf("in this process"),
  readers: RECORD,
  onUnread: FUNCTION,
};

export interface ApiServer {
  /** Answers a request whose path begins with `base`. Never rejects for what a request contains. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for Node's `http.createServer` and for Express. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** The beats in this process; null: without the option `beats`. */
  readonly driving: Driving | null;
  /** Ends all streams, waits for the beats in this process as `driving.stop` does, and closes the store. */
  readonly close: () => Promise<void>;
}

/** What the API knows about a request. */
interface From {
  readonly request: Request;
  /** False: a later page of a stream. */
  readonly isFirst?: boolean;
}

/**
 * Opens a store and returns the handlers of its API. Without `beats` it drives no run: `cairn work`, `cairn-run/worker` or
 * AWS does.
 *
 * @throws CairnError if the settings or the store cannot be used, `OptionInvalid` and `BaseInvalid`
 */
export function createServer(options: ServerOptions): Promise<ApiServer> {
  return asClientErrors(async () => {
    checkEmbeddingOptions("createServer", options, FORMS);
    const base = checkedBase(options.base ?? "");
    const { agents, beats } = options;
    if (beats !== undefined) entryIn({ agents, beats });
    if (agents === undefined) registerResolution({ inApp: true });
    const shell = surroundingsOf(options.cwd, agents);
    const settings = await settingsOf(shell, storeFlags(options));
    if (agents !== undefined) await checkGiven(agents, settings);
    const opened = await openSettled(shell, settings, { create: true });
    const driving =
      beats === undefined ? null : await drivenBy(opened, { agents: agents ?? [], cwd: shell.cwd, beats });
    const { auth, onUnread = () => undefined } = options;
    const { clock } = opened.world;
    const after: Clock["after"] = (delayMs, call) => clock.after(delayMs, call);
    const turns = new Turns();
    const readers = checkedReaders(options.readers) ?? settings.readers;
    const streams = new OpenStreams({ turns, after, onUnread, readers });
    const world = worldInTurns(opened.world, turns);
    const byToken = tokenAuthenticator(world);
    const callerOf = async (request: Request, credentials: Credentials): Promise<Caller | null> =>
      auth === "tokens" ? byToken(credentials) : checkedCaller(await auth(request));
    const api = createApi<From>({
      world,
      agentOf: (name) => agentToStart(shell, opened, name),
      agents: async () => (agents === undefined ? catalogueOf(settings) : { agents, broken: [] }),
      firingsOf: nextFirings,
      attendant: () => opened.attendant(),
      callerOf: ({ request }, credentials) => callerOf(request, credentials),
      baseOf: () => base,
      hasChats: true,
      isCounted: ({ isFirst = true }) => !isFirst,
      ...(settings.access.limits !== undefined && { limits: settings.access.limits }),
    });
    const app = serverApp();
    if (options.console ?? true) addConsole(app);
    const ask = (asked: Request, { original, isFirst }: { readonly original: Request; readonly isFirst: boolean }) =>
      api.fetch(asked, { request: original, isFirst });
    const identify = async (request: Request): Promise<Caller> => {
      const caller = await callerOf(request, credentialsIn(request.headers));
      if (caller === null) throw problems.unauthenticated();
      return caller;
    };
    addEventStreams(app, { streams, ask, callerOf: identify });
    const chat: ChatRoutes = {
      streams,
      ask,
      callerOf: identify,
      runOf: async (request, { agent, key: idempotencyKey }) => {
        const { tenant } = await identify(request);
        return runId(world.hash, { tenant, agent, idempotencyKey });
      },
    };
    addUiRoutes(app, chat);
    addAgUiRoute(app, chat);
    const calls: ApiCalls = { ask: (page, request) => api.fetch(page, { request }), identify };
    addMcp(app, { streams, calls });
    addA2a(app, { streams, calls, base });
    app.all("*", (c) => api.fetch(c.req.raw, { request: c.req.raw }));
    const fetch = async (request: Request): Promise<Response> => {
      const below = belowBase(request, base);
      return below === null ? problems.answerOf(problems.pathUnknown(), null) : app.fetch(below);
    };
    const close = async (): Promise<void> => {
      streams.closeAll();
      if (driving !== null) await driving.stop();
      opened.close();
    };
    const answer = getRequestListener(fetch);
    const { unreadSeconds: seconds } = streams.readers;
    const listener: ApiServer["listener"] = (request, response) => {
      closeIfUnread(response, { after, seconds, onUnread });
      return answer(request, response);
    };
    return { fetch, listener, driving, close };
  });
}

/** What only a server that drives runs needs is loaded here. */
async function drivenBy(
  opened: Opened,
  drive: {
    readonly agents: readonly Agent[];
    readonly cwd: string;
    readonly beats: NonNullable<DriveOptions["beats"]>;
  },
): Promise<Driving> {
  try {
    const { driveStore } = await import("./worker.ts");
    if (opened.supervision === null) throw nothingToDrive();
    return await driveStore({ ...drive, store: opened.settings.world.place });
  } catch (error) {
    opened.close();
    throw error;
  }
}

/** A tenant is part of keys in the store, so a wrong one is an error of the server and not of the request. */
function checkedCaller(caller: Caller | null): Caller {
  if (caller === null) throw problems.notRecognised();
  if (isTenant(caller.tenant)) return caller;
  throw new Error("auth returned a tenant that is not 1 to 24 lower-case letters and digits");
}

function checkedReaders(readers: ReaderOptions | undefined): ReaderOptions | null {
  if (readers === undefined) return null;
  const checked = parsedOption(readersSchema(), readers);
  if (checked.success) return checked.data;
  const why = checked.error.issues.map(({ path, message }) => `readers.${path.join(".")}: ${message}`).join("; ");
  throw Object.assign(new Error(`the option readers is not understood: ${why}`), { code: "ReadersInvalid" });
}

function checkedBase(base: string): string {
  if (base === "" || /^(\/[\w.~-]+){1,16}$/.test(base)) return base;
  const why = "a base is a path such as /cairn, without a slash at its end";
  throw Object.assign(new Error(`the base ${JSON.stringify(base)} is not understood: ${why}`), { code: "BaseInvalid" });
}

/** The request with its path below the base; null if it is elsewhere. */
function belowBase(request: Request, base: string): Request | null {
  if (base === "") return request;
  const url = new URL(request.url);
  if (url.pathname !== base && !url.pathname.startsWith(`${base}/`)) return null;
  url.pathname = url.pathname.slice(base.length) || "/";
  return new Request(url, request);
}
