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
import { agentToStart } from "../cli/agent-to-start.ts";
import { catalogueOf } from "../cli/commands/agent-list.ts";
import { openSettled } from "../cli/open.ts";
import { settingsOf } from "../cli/settings.ts";
import { isTenant } from "../core/ids.ts";
import { runId } from "../protocol/ids.ts";
import { asClientErrors, storeFlags, surroundingsOf } from "../client/open-store.ts";
import { nextFirings } from "../sdk/schedule/firing-times.ts";
import { registerResolution } from "../sdk/resolution.ts";
import { addA2a } from "../server/a2a-route.ts";
import { addAgUiRoute } from "../server/ag-ui-route.ts";
import type { ChatRoutes } from "../server/chat-run.ts";
import { addConsole } from "../server/console-files.ts";
import { addEventStreams } from "../server/event-route.ts";
import { serverApp } from "../server/server-app.ts";
import { addUiRoutes } from "../server/ui-route.ts";
import { OpenStreams } from "../server/open-streams.ts";
import { addMcp } from "../server/mcp-route.ts";
import { type ApiCalls, credentialsIn } from "../server/protocol-calls.ts";

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
}

export interface ApiServer {
  /** Answers a request whose path begins with `base`. Never rejects for what a request contains. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** The same for Node's `http.createServer` and for Express. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  /** Ends all streams and closes the store. */
  readonly close: () => void;
}

/** What the API knows about a request. */
interface From {
  readonly request: Request;
  /** False: a later page of a stream. */
  readonly isFirst?: boolean;
}

/**
 * Opens a store and returns the handlers of its API. It drives no run: `cairn work`, `cairn-run/worker` or AWS does.
 *
 * @throws CairnError if the settings or the store cannot be used, and `BaseInvalid`
 */
export function createServer(options: ServerOptions): Promise<ApiServer> {
  return asClientErrors(async () => {
    const base = checkedBase(options.base ?? "");
    registerResolution();
    const shell = surroundingsOf(options.cwd);
    const settings = await settingsOf(shell, storeFlags(options));
    const opened = await openSettled(shell, settings, { create: true });
    const { world } = opened;
    const { auth } = options;
    const byToken = tokenAuthenticator(world);
    const callerOf = async (request: Request, credentials: Credentials): Promise<Caller | null> =>
      auth === "tokens" ? byToken(credentials) : checkedCaller(await auth(request));
    const api = createApi<From>({
      world,
      agentOf: (name) => agentToStart(shell, opened, name),
      agents: () => catalogueOf(settings),
      firingsOf: nextFirings,
      callerOf: ({ request }, credentials) => callerOf(request, credentials),
      baseOf: () => base,
      hasChats: true,
      isCounted: ({ isFirst = true }) => !isFirst,
      ...(settings.access.limits !== undefined && { limits: settings.access.limits }),
    });
    const streams = new OpenStreams();
    const app = serverApp();
    if (options.console ?? true) addConsole(app);
    const ask = (asked: Request, { original, isFirst }: { readonly original: Request; readonly isFirst: boolean }) =>
      api.fetch(asked, { request: original, isFirst });
    addEventStreams(app, { streams, ask });
    const chat: ChatRoutes = {
      ...{ streams, ask },
      runOf: async (request, { agent, key: idempotencyKey }) => {
        const caller = await callerOf(request, credentialsIn(request.headers));
        if (caller === null) throw problems.unauthenticated();
        return runId(world.hash, { tenant: caller.tenant, agent, idempotencyKey });
      },
    };
    addUiRoutes(app, chat);
    addAgUiRoute(app, chat);
    const identify = async (request: Request): Promise<void> => {
      if ((await callerOf(request, credentialsIn(request.headers))) === null) throw problems.unauthenticated();
    };
    const calls: ApiCalls = { ask: (page, request) => api.fetch(page, { request }), identify };
    addMcp(app, { streams, calls });
    addA2a(app, { streams, calls, base });
    app.all("*", (c) => api.fetch(c.req.raw, { request: c.req.raw }));
    const fetch = async (request: Request): Promise<Response> => {
      const below = belowBase(request, base);
      return below === null ? problems.answerOf(problems.pathUnknown(), null) : app.fetch(below);
    };
    const close = (): void => {
      streams.closeAll();
      opened.close();
    };
    return { fetch, listener: getRequestListener(fetch), close };
  });
}

/** A tenant is part of keys in the store, so a wrong one is an error of the server and not of the request. */
function checkedCaller(caller: Caller | null): Caller | null {
  if (caller === null || isTenant(caller.tenant)) return caller;
  throw new Error("auth returned a tenant that is not 1 to 24 lower-case letters and digits");
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
