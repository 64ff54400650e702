/**
 * The server on this machine: the HTTP API, events as a stream, and a status page. Its caller is always the operator at
 * this machine, so it accepts only local requests (`local-requests.ts`).
 */
import { Hono } from "hono";
import type { Agent } from "../ports/agent.ts";
import type { World } from "../ports/world.ts";
import { createApi } from "../api/app.ts";
import type { Caller } from "../api/operations.ts";
import * as problems from "../api/problem.ts";
import type { AgentCatalogue } from "../operations/agents.ts";
import { listGates } from "../operations/approvals.ts";
import { listRuns } from "../operations/list.ts";
import { OpenStreams, streamEvents } from "./event-stream.ts";
import { onlyLocal } from "./local-requests.ts";
import { PAGE_POLICY, statusPage } from "./status-page.ts";

export interface LocalServerOptions {
  readonly world: World;
  readonly agentOf: (name: string) => Promise<Agent | null>;
  readonly agents: () => Promise<AgentCatalogue>;
  /** The operator of this machine. */
  readonly caller: Caller;
  /** Where the runs are stored, for the status page. */
  readonly place: string;
}

export interface LocalServer {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  /** The open streams of events. */
  readonly streams: OpenStreams;
}

const STREAMS_MAX = 256;
const RUNS_SHOWN = 100;
/** The most bytes of open gates on the status page. */
const GATES_BYTES = 64 * 1024;

export function createLocalServer({ world, agentOf, agents, caller, place }: LocalServerOptions): LocalServer {
  const api = createApi<object>({ world, agentOf, agents, callerOf: () => caller, baseOf: () => "" });
  const streams = new OpenStreams(STREAMS_MAX);
  const app = new Hono();
  app.onError((error) => problems.answerOf(problems.asProblem(error), null));
  app.use(onlyLocal);
  app.get("/", async (c) => {
    const filters = { tenant: caller.tenant, status: null, agent: null, limit: RUNS_SHOWN, after: null };
    const { gates, questions } = await listGates(world, { tenant: caller.tenant, after: null, bytesMax: GATES_BYTES });
    const page = statusPage(await listRuns(world, filters), { place, now: world.clock.now(), gates, questions });
    return c.html(page, 200, {
      "content-security-policy": PAGE_POLICY,
      "referrer-policy": "no-referrer",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  });
  app.get("/runs/:run/events", async (c, next) => {
    if (!/\btext\/event-stream\b/i.test(c.req.header("accept") ?? "")) return next();
    if (streams.isFull) throw tooManyStreams();
    const { pathname } = new URL(c.req.url);
    const given = c.req.header("last-event-id") ?? c.req.query("after") ?? "0";
    const after = /^\d{1,15}$/.test(given) ? Number(given) : 0;
    const pageOf = async (query: string): Promise<Response> =>
      api.fetch(new Request(new URL(`${pathname}${query}`, c.req.url)), {});
    return streamEvents(pageOf, { after, streams });
  });
  app.all("*", (c) => api.fetch(c.req.raw, {}));
  return { fetch: (request) => app.fetch(request), streams };
}

const tooManyStreams = (): problems.ApiProblem =>
  new problems.ApiProblem({
    status: 503,
    code: "TooManyStreams",
    detail: `${STREAMS_MAX} readers follow events already: close one, or ask for events with \`wait\``,
    headers: { "retry-after": "5" },
  });
