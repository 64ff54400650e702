/**
 * The HTTP routes of the operation table: the requests that each takes, and every response that it may give.
 *
 * An operation with `http` has a route. The routes written out below declare more headers and documents than the table
 * can.
 */
import { type RouteConfig, createRoute, z } from "@hono/zod-openapi";
import { ensure } from "../core/ensure.ts";
import type { AnyOperation, Http } from "../operations/operation.ts";
import { OPERATIONS, type OperationName } from "../operations/table.ts";
import { boundedBody } from "./body.ts";
import * as schemas from "./schemas.ts";

const PROBLEMS = {
  400: "The body is not JSON, or not complete.",
  401: "The caller is not known, since the request is not signed.",
  404: "There is no such run, or it belongs to another tenant.",
  409: "It cannot be done any more, or the key was used for another request.",
  412: "The epoch of the run is not the one that the tag names.",
  413: "It is too large.",
  415: "The content type of the body is not JSON.",
  422: "It is JSON, but does not match the schema. `errors` lists what is wrong and where.",
  500: "The stored data cannot be read, or cairn has a bug. Nothing was changed.",
  503: "The store cannot be used now. The same request may be sent again.",
} as const;

type ProblemStatus = keyof typeof PROBLEMS;

const problem = (status: ProblemStatus) => ({
  description: PROBLEMS[status],
  content: { "application/problem+json": { schema: schemas.problemDocument } },
});

const every = { 401: problem(401), 500: problem(500), 503: problem(503) };
const ofBody = { 400: problem(400), 413: problem(413), 415: problem(415), 422: problem(422) };

const answer = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

const body = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true,
  content: { "application/json": { schema } },
});

const location = {
  Location: { description: "The path that shows the run.", schema: { type: "string" as const } },
};

const etag = {
  ETag: { description: "The resume token of the run.", schema: { type: "string" as const } },
};

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
  request: { headers: schemas.startHeaders, body: body(schemas.startBody) },
  responses: {
    200: { ...answer("An earlier request of that key started it.", schemas.startedDocument), headers: location },
    202: { ...answer("It is started.", schemas.startedDocument), headers: location },
    404: { ...problem(404), description: "There is no such agent." },
    409: {
      ...problem(409),
      description:
        "The key belongs to a run with another input (`KeyConflict`), or to an ended run whose data is removed (`Ended`).",
    },
    ...ofBody,
    ...every,
  },
});

export const runRoute = createRoute({
  ...at(OPERATIONS.show),
  operationId: "showRun",
  summary: "Shows a run, as `cairn show` does",
  request: { params: schemas.runParams, headers: schemas.runHeaders },
  responses: {
    200: { ...answer("The run.", schemas.runDocument), headers: etag },
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
  request: { params: schemas.runParams, headers: schemas.messageHeaders, body: body(schemas.messageBody) },
  responses: {
    200: answer("It was delivered before.", schemas.messageDocument),
    202: answer("It is delivered: the run will read it.", schemas.messageDocument),
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

export const documentRoute = createRoute({
  method: "get",
  path: "/openapi.json",
  operationId: "describe",
  summary: "This document",
  responses: {
    200: answer("OpenAPI 3.1.", z.object({}).loose()),
    401: problem(401),
  },
});

export const healthRoute = createRoute({
  method: "get",
  path: "/healthz",
  operationId: "health",
  summary: "Says that the API answers; needs no signature, and reads nothing",
  security: [],
  responses: { 200: answer("The API answers.", schemas.healthDocument) },
});

/** Operations whose routes are written out above. */
const DESIGNED: { readonly [N in OperationName]?: RouteConfig } = {
  start: startRoute,
  show: runRoute,
  send: messageRoute,
};

/** Operations by name. Each with `http` has a route. */
export type Rows = Readonly<Record<string, AnyOperation>>;

/** The routes that are generated from the rows of the table alone. */
export const plainRoutes = (rows: Rows): readonly { readonly operation: AnyOperation; readonly route: RouteConfig }[] =>
  Object.entries(rows).flatMap(([name, operation]) =>
    operation.http === undefined || Object.hasOwn(DESIGNED, name)
      ? []
      : [{ operation, route: plainRoute(name, operation) }],
  );

/** All routes, in the order of the table. */
export const routesOf = (rows: Rows): readonly RouteConfig[] => [
  ...Object.entries(rows).flatMap(([name, operation]) =>
    operation.http === undefined ? [] : [DESIGNED[name as OperationName] ?? plainRoute(name, operation)],
  ),
  documentRoute,
  healthRoute,
];

/**
 * A generated route. Its input comes from the path, and from a JSON body (`post`) or the query (`get` and `delete`);
 * its response is the outcome. A write to a run takes a resume token as its precondition.
 */
function plainRoute(name: string, operation: AnyOperation): RouteConfig {
  const { method, path, bounds = {} } = at(operation);
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, key]) => String(key));
  const fields = Object.entries({ ...operation.input.shape, ...bounds }).filter(([key]) => !inPath.includes(key));
  const own = z.strictObject(Object.fromEntries(fields));
  const hasBody = method === "post" && fields.length > 0;
  const hasQuery = method !== "post" && fields.length > 0;
  const isSteering = operation.writes && inPath.includes("run");
  return createRoute({
    ...{ method, path, operationId: name, summary: operation.help },
    ...(hasBody && { middleware: boundedBody }),
    request: {
      ...(inPath.length > 0 && { params: z.object(Object.fromEntries(inPath.map((key) => [key, z.string()]))) }),
      ...(hasBody && { body: body(own) }),
      ...(hasQuery && { query: inQuery(fields) }),
      ...(isSteering && { headers: schemas.steeringHeaders }),
    },
    responses: {
      ...answersOf(operation),
      ...(hasBody ? ofBody : {}),
      ...(hasQuery ? { 422: problem(422) } : {}),
      ...(isSteering ? { 412: { ...problem(412), headers: etag } } : {}),
      ...every,
    },
  });
}

/** The fields as query parameters. */
const inQuery = (fields: readonly (readonly [string, z.ZodType])[]) =>
  z.strictObject(Object.fromEntries(fields.map(([key, field]) => [key, z.preprocess(literalFor(field), field)])));

/** Reads the text of a query parameter: as it is if the field takes text, else as a number or a boolean. */
const literalFor =
  (field: z.ZodType) =>
  (text: unknown): unknown => {
    if (typeof text !== "string" || field.safeParse(text).success) return text;
    if (/^\d{1,15}$/.test(text)) return Number(text);
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
      return [status, answer(description, z.object({ kind: z.enum(kinds) }).loose())];
    }),
  );
}
