/**
 * The server of one process: the HTTP API, events as a stream, and the console. Where no login is required, its caller
 * is the operator at this machine, so it accepts only local requests (`local-requests.ts`).
 */
import type { ServerResponse } from "node:http";
import type { Agent } from "../ports/agent.ts";
import type { LostLines } from "../ports/supervision.ts";
import type { Clock, World } from "../ports/world.ts";
import type { Attendant } from "../ports/world-provider.ts";
import { type ApiOptions, createApi } from "../api/app.ts";
import type { Authenticate, Caller, Credentials } from "../api/access/caller.ts";
import { openApiDocument } from "../api/document.ts";
import type { ReaderOptions } from "../sdk/readers.ts";
import type { AgentCatalogue } from "../operations/agents.ts";
import type { ExaminedStore } from "../ports/diagnosis.ts";
import type { FiringsOf } from "../operations/schedules.ts";
import { runId } from "../protocol/ids.ts";
import { addA2a } from "../integrations/a2a/routes.ts";
import { addAgUiRoute } from "../integrations/ag-ui/routes.ts";
import type { ChatRoutes } from "../integrations/chat/chat-run.ts";
import { addConsole } from "./console-files.ts";
import { addEventStreams, credentialsOf } from "../api/streams/routes.ts";
import { OpenStreams, type UnreadStream } from "../api/streams/open-streams.ts";
import { onlyOwnPages } from "./local-requests.ts";
import { addMcp } from "../integrations/mcp/routes.ts";
import { credentialsIn } from "../integrations/protocol-calls.ts";
import { REFERENCE_HEADERS, referencePage } from "./reference-page.ts";
import { serverApp } from "./server-app.ts";
import { Turns, worldInTurns } from "../api/streams/turns.ts";
import { addUiRoutes } from "../integrations/chat/routes.ts";
import { closeIfUnread } from "./unread.ts";

export interface LocalServerOptions {
  readonly world: World;
  readonly agentOf: (name: string) => Promise<Agent | null>;
  readonly agents: () => Promise<AgentCatalogue>;
  readonly firingsOf: FiringsOf;
  readonly examine?: () => Promise<ExaminedStore>;
  /** What the supervisor in this process has to do; null: none is in it. */
  readonly load?: NonNullable<ApiOptions<object>["load"]>;
  /** The operator of this machine, who is the caller of every request where no token is required. */
  readonly caller: Caller;
  /** Identifies the caller where a login is required; null: the server is open to this machine. */
  readonly login: () => Promise<Authenticate | null>;
  /** What each tenant may do. */
  readonly limits?: ApiOptions<object>["limits"];
  /** The process that drives the runs now. */
  readonly attendant?: () => Attendant | null;
  /** How many readers it follows runs for. */
  readonly readers?: ReaderOptions;
  /** What of its output this process could not write; default: nothing is known of it. */
  readonly lostOutput?: () => LostLines | null;
  /** Hears of each reader that was closed since it took nothing. */
  readonly onUnread?: (closed: UnreadStream) => void;
}

export interface LocalServer {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** The open streams of events. */
  readonly streams: OpenStreams;
  /** Watches an answer of Node's HTTP server, and closes its connection if the client takes nothing of it. */
  readonly watch: (response: ServerResponse) => void;
}

interface From {
  /** False: a later page of a stream. */
  readonly isFirst?: boolean;
}

export function createLocalServer(options: LocalServerOptions): LocalServer {
  const { readers, onUnread = () => undefined } = options;
  const { clock } = options.world;
  const after: Clock["after"] = (delayMs, call) => clock.after(delayMs, call);
  const turns = new Turns();
  const streams = new OpenStreams({ turns, after, onUnread, ...(readers !== undefined && { readers }) });
  const world = worldInTurns(options.world, turns);
  const identify = async (credentials: Credentials): Promise<Caller> =>
    (await (await options.login())?.(credentials)) ?? options.caller;
  const callerOf = (_: object, credentials: Credentials): Promise<Caller> => identify(credentials);
  const isCounted = ({ isFirst = true }: From): boolean => !isFirst;
  const api = createApi<From>({ ...options, world, callerOf, isCounted, baseOf: () => "", hasChats: true });
  const app = serverApp();
  app.use(onlyOwnPages(async () => (await options.login()) !== null));
  addConsole(app);
  app.get("/reference", async (c) => {
    await identify(credentialsOf(c.req));
    return c.html(referencePage(openApiDocument()), 200, REFERENCE_HEADERS);
  });
  const ask = (asked: Request, { isFirst }: { readonly isFirst: boolean }) => api.fetch(asked, { isFirst });
  const identified = ({ headers }: Request): Promise<Caller> => identify(credentialsIn(headers));
  addEventStreams(app, { streams, ask, callerOf: identified });
  const chat: ChatRoutes = {
    streams,
    ask,
    callerOf: identified,
    runOf: async (original, { agent, key: idempotencyKey }) => {
      const { tenant } = await identified(original);
      return runId(world.hash, { tenant, agent, idempotencyKey });
    },
  };
  addUiRoutes(app, chat);
  addAgUiRoute(app, chat);
  const calls = {
    ask: (request: Request) => api.fetch(request, {}),
    identify: identified,
  };
  addMcp(app, { streams, calls });
  addA2a(app, { streams, calls, base: "" });
  app.all("*", (c) => api.fetch(c.req.raw, {}));
  const { unreadSeconds: seconds } = streams.readers;
  const watch = (response: ServerResponse): void => closeIfUnread(response, { after, seconds, onUnread });
  return { fetch: (request) => app.fetch(request), streams, watch };
}
