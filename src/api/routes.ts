/**
 * The HTTP routes of the operation table: the requests that each takes, and every response that it may give.
 *
 * An operation with `http` has a route. The routes written out below declare more headers and documents than the table
 * can.
 */
import { type RouteConfig, createRoute, z } from "@hono/zod-openapi";
import { ensure } from "../core/ensure.ts";
import { type AnyOperation, type Http, SCOPES } from "../operations/operation.ts";
import { OPERATIONS, type OperationName } from "../operations/table.ts";
import { fileHeaders, fileParams } from "./file-schemas.ts";
import { boundedBody } from "./body.ts";
import * as headers from "./header-schemas.ts";
import {
  type ProblemStatus,
  answerSchema,
  body,
  etag,
  every,
  location,
  ofBody,
  problem,
  retryAfter,
} from "./route-parts.ts";
import * as schemas from "./schemas.ts";
import type { CallerView } from "../operations/caller-view.ts";

/** The schema of `GET /caller`: who the caller is, and what this server performs for it. */
const callerDocument = z
  .object({
    tenant: z.string(),
    actor: z.string().openapi({ description: "As the audit log names it." }),
    scopes: z.array(z.enum(SCOPES)).readonly(),
    isOperator: z
      .boolean()
      .openapi({ description: "It is the operator of the machine with the store, and may name each tenant." }),
    operations: z.array(z.string()).readonly().openapi({
      description: "The operations that have a route here and whose scope the caller has.",
    }),
    absent: z.array(z.string()).readonly().openapi({
      description: "The operations that this server performs for no caller. A deployment on AWS has no `purge`.",
    }),
    attendant: z
      .object({
        id: z.union([z.int(), z.string()]).openapi({ description: "A process ID, or the name of a world." }),
        name: z.string().openapi({ description: "For people, such as `process 4711`." }),
      })
      .nullable()
      .openapi({ description: "What drives the runs now; null: nothing does, or the server does not know." }),
  })
  .openapi("Caller") satisfies z.ZodType<CallerView>;

/** The method and path of an operation. */
function at({ http }: Pick<AnyOperation, "http">): Http {
  ensure(http !== undefined, "an operation without a place has no route");
  return http;
}

export const startRoute = createRoute({
  ...at(OPERATIONS.start),
  operationId: "startRun",
  summary: "Starts a run",
  middleware: boundedBody,
  request: { headers: headers.startHeaders, body: body(schemas.startBody) },
  responses: {
    200: { ...answerSchema("An earlier request of that key started it.", schemas.startedDocument), headers: location },
    202: { ...answerSchema("It is started.", schemas.startedDocument), headers: location },
    404: { ...problem(404), description: "There is no such agent." },
    409: {
      ...problem(409),
      description:
        "The key belongs to a run with another input or other files (`KeyConflict`), or to an ended run whose data is removed (`Ended`).",
    },
    ...ofBody,
    ...every,
  },
});

export const runRoute = createRoute({
  ...at(OPERATIONS.show),
  operationId: "showRun",
  summary: "Shows a run, as `cairn show` does",
  request: { params: schemas.runParams, headers: headers.runHeaders },
  responses: {
    200: { ...answerSchema("The run.", schemas.runDocument), headers: etag },
    304: { description: "The run still has the state that the tag names.", headers: etag },
    404: problem(404),
    ...every,
  },
});

export const messageRoute = createRoute({
  ...at(OPERATIONS.send),
  operationId: "sendMessage",
  summary: "Sends a message to the model of a run",
  middleware: boundedBody,
  request: { params: schemas.runParams, headers: headers.messageHeaders, body: body(schemas.messageBody) },
  responses: {
    200: answerSchema("It was delivered before.", schemas.messageDocument),
    202: answerSchema("It is delivered: the run will read it.", schemas.messageDocument),
    404: problem(404),
    409: {
      ...problem(409),
      description: "The run has ended (`Late`), or the id belongs to a message with another text (`MessageConflict`).",
    },
    412: { ...problem(412), headers: etag },
    ...ofBody,
    ...every,
  },
});

export const fileRoute = createRoute({
  ...at(OPERATIONS.file),
  operationId: "file",
  summary: "The bytes of a file of a run",
  request: { params: fileParams },
  responses: {
    200: {
      description: "The file. Its type is `application/octet-stream`, unless it is one that a browser does not run.",
      headers: fileHeaders,
      content: { "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) } },
    },
    303: {
      description:
        "The store hands it out, at an address that works for a few minutes (on AWS). Send no credentials there.",
      headers: { Location: { description: "The address.", schema: { type: "string" as const } } },
    },
    404: {
      ...problem(404),
      description: "There is no such run (`RunUnknown`), or it has no such file (`FileUnknown`).",
    },
    ...every,
  },
});

export const documentRoute = createRoute({
  method: "get",
  path: "/openapi.json",
  operationId: "describe",
  summary: "This document",
  responses: {
    200: answerSchema("OpenAPI 3.1.", z.object({}).loose()),
    401: problem(401),
    429: { ...problem(429), headers: retryAfter },
  },
});

export const callerRoute = createRoute({
  method: "get",
  path: "/caller",
  operationId: "caller",
  summary: "Who the caller is, and which operations this server performs for it",
  responses: {
    200: answerSchema("The caller.", callerDocument),
    401: problem(401),
    429: { ...problem(429), headers: retryAfter },
  },
});

export const healthRoute = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  summary: "Says that the API answers; needs no signature, and reads nothing",
  security: [],
  responses: { 200: answerSchema("The API answers.", schemas.healthDocument) },
});

export const callbackRoute = createRoute({
  method: "post",
  path: "/callbacks/{token}",
  operationId: "callback",
  security: [],
  middleware: boundedBody,
  summary: "Reports an event to one run: for an outside service that a tool gave this link; needs no other right",
  request: { params: z.object({ token: z.string() }) },
  requestBody: {
    description: "Absent: the detail of the event is null.",
    content: {
      "application/json": { schema: {} },
      "application/x-www-form-urlencoded": { schema: { type: "object" as const } },
    },
  },
  responses: {
    202: answerSchema("The event is durable.", schemas.callbackDocument),
    200: answerSchema("It was reported before.", schemas.callbackDocument),
    404: problem(404),
    409: problem(409),
    422: problem(422),
    500: problem(500),
    503: problem(503),
    400: problem(400),
    413: problem(413),
    415: problem(415),
    429: { ...problem(429), headers: retryAfter },
  },
});

export const exportRoute = createRoute({
  ...at(OPERATIONS.export),
  operationId: "exportRun",
  summary: "Exports a run, as `cairn export --out -` does: JSON lines, the last of which has the digest of all others",
  request: { params: schemas.runParams, query: schemas.exportQuery },
  responses: {
    200: {
      description:
        "The export. Without its last line it is not complete. With `redirect=false` and a large export: where it is.",
      content: {
        "application/jsonl": { schema: z.string() },
        "application/json": { schema: schemas.exportDocument },
      },
    },
    303: {
      description: "The export is large: it is gzipped at `Location`, for a few minutes.",
      headers: { Location: { description: "A signed URL.", schema: { type: "string" as const } } },
    },
    404: problem(404),
    413: { ...problem(413), description: "The export is too large for this API: use `cairn export`." },
    422: problem(422),
    ...every,
  },
});

/** Operations whose routes are written out above. */
const DESIGNED: { readonly [N in OperationName]?: RouteConfig } = {
  start: startRoute,
  show: runRoute,
  send: messageRoute,
  export: exportRoute,
  file: fileRoute,
};

/** Operations by name. Each with `http` has a route. */
export type OperationRows = Readonly<Record<string, AnyOperation>>;

/** The routes that are generated from the rows of the table alone. */
export const plainRoutes = (
  rows: OperationRows,
): readonly { readonly operation: AnyOperation; readonly route: RouteConfig }[] =>
  Object.entries(rows).flatMap(([name, operation]) =>
    operation.http === undefined || Object.hasOwn(DESIGNED, name)
      ? []
      : [{ operation, route: plainRoute(name, operation) }],
  );

/** All routes, in the order of the table, each with the scope that its caller needs. */
export const routesOf = (rows: OperationRows): readonly RouteConfig[] => [
  ...Object.entries(rows).flatMap(([name, operation]) => {
    if (operation.http === undefined) return [];
    const route = DESIGNED[name as OperationName] ?? plainRoute(name, operation);
    return [{ ...route, security: [{ token: [operation.scope] }, { jwt: [operation.scope] }, { iam: [] }] }];
  }),
  documentRoute,
  callerRoute,
  healthRoute,
  callbackRoute,
];

/**
 * A generated route. Its input comes from the path, and from a JSON body (`post`) or the query (`get` and `delete`);
 * its response is the outcome. A write to a run takes a resume token as its precondition.
 */
function plainRoute(name: string, operation: AnyOperation): RouteConfig {
  const { method, path, key, bounds = {} } = at(operation);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => String(key));
  const fields = Object.entries({ ...operation.input.shape, ...bounds }).filter(([name]) => !inPath.includes(name));
  const params = inPath.map((name) => [name, operation.input.shape[name] ?? z.string()] as const);
  const isTyped = params.some(([, field]) => !field.safeParse("text").success);
  const own = z.strictObject(Object.fromEntries(fields));
  const hasBody = method === "post" && fields.length > 0;
  const hasQuery = method !== "post" && fields.length > 0;
  const isSteering = operation.writes && inPath.includes("run");
  return createRoute({
    method,
    path,
    operationId: name,
    summary: operation.help,
    ...(hasBody && { middleware: boundedBody }),
    request: {
      ...(inPath.length > 0 && { params: z.object(Object.fromEntries(params.map(inPathAs))) }),
      ...(hasBody && { body: body(own) }),
      ...(hasQuery && { query: inQuery(fields) }),
      ...(isSteering && { headers: headers.steeringHeaders }),
      ...(key !== undefined && { headers: isSteering ? headers.keyedSteeringHeaders : headers.keyHeaders }),
    },
    responses: {
      ...answersOf(operation),
      ...(hasBody ? ofBody : {}),
      ...(hasQuery || isTyped ? { 422: problem(422) } : {}),
      ...(isSteering ? { 412: { ...problem(412), headers: etag } } : {}),
      ...every,
    },
  });
}

/**
 * A parameter of the path: any text, since a wrong one is refused after the run is known to be the caller's. The document
 * says what fits.
 */
const inPathAs = ([name, field]: readonly [string, z.ZodType]): [string, z.ZodString] => {
  const isText = field.safeParse("text").success;
  return [name, isText ? z.string() : z.string().openapi({ type: "integer", minimum: 0 })];
};

/** The text of a path parameter as the operation's field takes it. */
export const fromPath = ({ input }: AnyOperation, named: Readonly<Record<string, string>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(named).map(([name, text]) => [name, literalFor(input.shape[name] ?? z.string())(text)]),
  );

/** The fields as query parameters. */
const inQuery = (fields: readonly (readonly [string, z.ZodType])[]) =>
  z.strictObject(Object.fromEntries(fields.map(([key, field]) => [key, z.preprocess(literalFor(field), field)])));

/** Reads the text of a query parameter, or the texts of one that is repeated: as it is if the field takes text, else as a number or a boolean. */
const literalFor =
  (field: z.ZodType) =>
  (text: unknown): unknown => {
    if (typeof text !== "string" || field.safeParse(text).success) return text;
    if (/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return Number(text);
    return text === "true" || (text === "false" ? false : text);
  };

/** The responses of an operation, by HTTP status. Several outcomes may share one status. */
function answersOf({ outcomes }: AnyOperation): RouteConfig["responses"] {
  const byStatus = Map.groupBy(Object.entries(outcomes), ([, { status }]) => status);
  return Object.fromEntries(
    [...byStatus].map(([status, told]) => {
      const description = [...new Set(told.map(([, { says }]) => says))].join(" ");
      if (status >= 400) return [status, { ...problem(status as ProblemStatus), description }];
      const kinds = told.map(([kind]) => kind) as [string, ...string[]];
      return [status, answerSchema(description, z.object({ kind: z.enum(kinds) }).loose())];
    }),
  );
}
