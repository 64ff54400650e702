/**
 * The HTTP API: one app, which runs behind API Gateway and in a server of one's own.
 *
 * The server that receives the request identifies the caller (`callerOf`). The app refuses every request without a
 * caller, and every operation whose scope the caller lacks. Only `/healthz` is open,
 * and `/callbacks/{token}`, whose token is a right of its own.
 */
import { OpenAPIHono, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { methodNotAllowed as methodsKnown } from "hono/method-not-allowed";
import type { Agent } from "../ports/agent.ts";
import type { LostLines, SupervisorLoad } from "../ports/supervision.ts";
import type { World } from "../ports/world.ts";
import type { Attendant } from "../ports/world-provider.ts";
import { openApiDocument } from "./document.ts";
import type { AgentCatalogue } from "../operations/agents.ts";
import { viewOfCaller } from "../operations/caller-view.ts";
import type { ExaminedStore } from "../ports/diagnosis.ts";
import type { FiringsOf } from "../operations/schedules.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { ROWS } from "../operations/table.ts";
import { callbackOf, reportIn } from "./callback.ts";
import { exportOf } from "./export.ts";
import { answerWith } from "./handed-over.ts";
import { fileOf, messageOf, outcomeOf, runOf, startOf } from "./operations.ts";
import type { Caller, Credentials } from "./access/caller.ts";
import { tooManyRequests } from "./access/limits.ts";
import { requestCounter } from "./access/rate-limit.ts";
import { requireScopes } from "./access/scopes.ts";
import { type AccessOptions, limitsOfTenant } from "../sdk/access.ts";
import * as problems from "./problem.ts";
import * as routes from "./routes.ts";

/** What the app needs from its server. `From` is what the server knows about a request. */
export interface ApiOptions<From extends object> {
  readonly world: World;
  /** Finds an agent by name; null if there is none. The API does not run agents, so their models are not needed. */
  readonly agentOf: (name: string) => Promise<Agent | null>;
  /** The agents that may be started; default: none is listed. */
  readonly agents?: () => Promise<AgentCatalogue>;
  /** The next times of a schedule; default: none is listed. */
  readonly firingsOf?: FiringsOf;
  /** Checks what runs need; default: that is not possible here. */
  readonly examine?: () => Promise<ExaminedStore>;
  /** What the supervisor in this process has to do; default, and null: none is in it. */
  readonly load?: () => SupervisorLoad | null;
  /**
   * Identifies the caller, from what the server knows about the request and from its credentials; null: unidentified, so
   * the request is refused. It may throw an `ApiProblem` that says why.
   */
  readonly callerOf: (from: From, credentials: Credentials) => Caller | null | Promise<Caller | null>;
  /** The most bytes of a gzipped export that does not fit into a response: the process holds all of it. */
  readonly exportBytesMax?: number;
  /** The operations that have routes here. Default: every operation of the table that has one. */
  readonly rows?: routes.OperationRows;
  /** Whether the server has the routes of the chat protocols, which its document then describes; default: no. */
  readonly hasChats?: boolean;
  /** What each tenant may do; default: there are no limits. */
  readonly limits?: AccessOptions["limits"];
  /** What of its output the process of the server could not write, which `/healthz` says; default: that is not known. */
  readonly lostOutput?: () => LostLines | null;
  /** Whether the server asks this itself, as a part of a request that was counted; default: no. */
  readonly isCounted?: (from: From) => boolean;
  /** The process or service that drives the runs now; default: it is not known. */
  readonly attendant?: () => Attendant | null;
  /** The prefix of every path, such as `/prod`; empty if the server is at the root. */
  readonly baseOf: (from: From) => string;
}

interface ApiEnv<From extends object> {
  readonly Bindings: From;
  readonly Variables: { caller: Caller };
}

export type Api<From extends object> = OpenAPIHono<ApiEnv<From>>;

/** Creates the app. A thrown error becomes a problem document. */
export function createApi<From extends object>(options: ApiOptions<From>): Api<From> {
  const { world, callerOf, rows = ROWS, hasChats = false } = options;
  const app = new OpenAPIHono<ApiEnv<From>>({ defaultHook: refuseInvalid });
  app.onError((error, c) => {
    const told = problems.asProblem(error);
    const fault = told.trouble.status >= 500 ? problems.faultTold(world, { error, told, path: c.req.path }) : null;
    return guarded(problems.answerOf(told, fault));
  });
  app.notFound(() => problems.answerOf(problems.pathUnknown(), null));
  app.use(async (c, next) => {
    await next();
    guarded(c.res);
  });
  const countRequest = requestsLimited(options);
  app.openapi(routes.healthRoute, (c) => {
    const outputLost = options.lostOutput?.() ?? null;
    return c.json({ status: "ok" as const, ...(outputLost !== null && { outputLost }) }, 200);
  });
  app.openapi(routes.callbackRoute, async (c) => {
    const { token } = c.req.valid("param");
    const detail = reportIn(c.req.header("content-type") ?? "", await c.req.text());
    const { isNew } = await callbackOf(
      world,
      { token, detail, from: null },
      { countRequest, agentOf: options.agentOf },
    );
    return c.json({ accepted: true as const }, isNew ? 202 : 200);
  });
  app.use(async (c, next) => {
    const caller = await callerOf(c.env, { authorization: c.req.header("authorization") ?? "" });
    if (caller === null) throw problems.unauthenticated();
    c.set("caller", caller);
    if (options.isCounted?.(c.env) !== true) await countRequest(caller.tenant);
    await next();
  });
  const onMethodNotAllowed = (_: unknown, methods: string[]): Response =>
    guarded(problems.answerOf(problems.methodNotAllowed(methods), null));
  app.use(methodsKnown({ app, onMethodNotAllowed }));
  requireScopes(app, rows);
  app.openapi(routes.callerRoute, (c) => {
    const attendant = options.attendant?.() ?? null;
    return c.json(viewOfCaller(c.get("caller"), { here: rows, all: ROWS, attendant }), 200);
  });
  app.openapi(routes.documentRoute, (c) => c.json(openApiDocument({ rows, hasChats }), 200));
  return addPlain(addRuns(app, options), { ...options, rows });
}

/** Refuses requests of a tenant beyond what it may send. */
function requestsLimited<From extends object>({ world, limits }: ApiOptions<From>): (tenant: string) => Promise<void> {
  if (limits === undefined) return async () => {};
  const count = requestCounter(world);
  return async (tenant) => {
    const own = limitsOfTenant({ limits }, tenant);
    if (own?.requestsPerSecond === undefined && own?.requestsPerMinute === undefined) return;
    const retryAt = await count(tenant, own);
    if (retryAt !== null) throw tooManyRequests(retryAt - world.clock.now());
  };
}

const EXPORT_BYTES_MAX = 64 * 1024 * 1024;

function addRuns<From extends object>(app: Api<From>, options: ApiOptions<From>): Api<From> {
  const { baseOf, exportBytesMax = EXPORT_BYTES_MAX, ...known } = options;
  app.openapi(routes.startRoute, async (c) => {
    const { "Idempotency-Key": idempotencyKey = null } = c.req.valid("header");
    const wanted = { ...c.req.valid("json"), idempotencyKey };
    const started = await startOf({ ...known, caller: c.get("caller"), headers: c.req.raw.headers }, wanted);
    const headers = { location: `${baseOf(c.env)}/runs/${started.run}` };
    return c.json(started, started.started ? 202 : 200, headers);
  });
  app.openapi(routes.runRoute, async (c) => {
    const { "If-None-Match": ifNoneMatch = "" } = c.req.valid("header");
    const { run } = c.req.valid("param");
    const seen = await runOf({ ...known, caller: c.get("caller") }, { run, ifNoneMatch });
    const headers = { etag: seen.etag, "cache-control": "private, no-cache" };
    return seen.kind === "unchanged" ? c.body(null, 304, headers) : c.json(seen.document, 200, headers);
  });
  app.openapi(routes.messageRoute, async (c) => {
    const { "If-Match": ifMatch = "", "Idempotency-Key": key = null } = c.req.valid("header");
    const { text, files, id = null, stop = false } = c.req.valid("json");
    if (id !== null && key !== null && id !== key) throw problems.keysDiffer("id");
    const { run } = c.req.valid("param");
    const asked = { ...known, caller: c.get("caller") };
    const sent = await messageOf(asked, { run, text, files, id: id ?? key, stop, ifMatch });
    return c.json(sent, sent.delivered ? 202 : 200);
  });
  app.openapi(routes.exportRoute, async (c) => {
    const { run } = c.req.valid("param");
    const { redirect = "true" } = c.req.valid("query");
    const wanted = { run, bytesMax: exportBytesMax, redirects: redirect === "true" };
    return exportOf({ ...known, caller: c.get("caller") }, wanted);
  });
  app.openapi(
    routes.fileRoute,
    async (c) =>
      // The type of the route is that of a document; this is the file itself.
      fileOf({ ...known, caller: c.get("caller") }, c.req.valid("param")) as Promise<never>,
  );
  return app;
}

/** Adds the operations whose rows of the table describe their routes completely. */
function addPlain<From extends object>(
  app: Api<From>,
  { rows, ...options }: ApiOptions<From> & { readonly rows: routes.OperationRows },
): Api<From> {
  for (const { operation, route } of routes.plainRoutes(rows)) {
    app.openapi(route, async (c) => {
      const { request } = route;
      // Absent fields take the defaults of their bounds, which only what was checked has. A request without a body is
      // one without fields.
      const said: unknown = request?.body === undefined ? {} : c.req.valid("json" as never);
      const asked: unknown = request?.query === undefined ? {} : c.req.valid("query" as never);
      const named = routes.fromPath(operation, c.req.param());
      const given = keyed(operation, { ...(said as object), ...(asked as object), ...named }, c);
      const ifMatch = c.req.header("if-match") ?? "";
      const context = { ...options, caller: c.get("caller"), headers: c.req.raw.headers };
      const { status, outcome } = await outcomeOf(context, operation, { given, ifMatch });
      return answerWith(c.req.raw, outcome, status);
    });
  }
  return app;
}

/** The input, with the key of the header `Idempotency-Key` if the operation takes one. */
function keyed(
  { http }: Pick<AnyOperation, "http">,
  given: Readonly<Record<string, unknown>>,
  { req }: Context,
): Readonly<Record<string, unknown>> {
  const name = http?.key;
  const key = req.header("idempotency-key");
  if (name === undefined || key === undefined) return given;
  const said = given[name] ?? key;
  if (said === key) return { ...given, [name]: key };
  throw problems.keysDiffer(name);
}

/** Throws a problem that lists each part of the request that violates its schema, with its place. */
function refuseInvalid({ target, error }: { readonly target: string; readonly error?: z.ZodError }): void {
  if (error === undefined) return;
  const { issues } = error;
  if (target === "json") throw problems.requestInvalid(problems.wrongIn(issues, "#"));
  const place = target === "header" ? "header" : "parameter";
  const wrong = problems.wrongIn(issues, "").map(({ pointer = "", detail }) => ({ [place]: pointer.slice(1), detail }));
  throw problems.requestInvalid(wrong);
}

/**
 * Adds headers that forbid a browser to guess the content type, and caches to keep the response. A stream also forbids
 * what would hold its events back: the buffer of a proxy such as nginx, and a compression such as that of Next.js.
 */
export function guarded(response: Response): Response {
  response.headers.set("x-content-type-options", "nosniff");
  if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
    response.headers.set("x-accel-buffering", "no");
    response.headers.set("cache-control", "no-store, no-transform");
  }
  if (!response.headers.has("cache-control")) response.headers.set("cache-control", "no-store");
  return response;
}
