/** Which operations there are over HTTP, what each takes, and every answer that it may give. */
import { createRoute, z } from "@hono/zod-openapi";
import { boundedBody } from "./body.ts";
import * as schemas from "./schemas.ts";

const PROBLEMS = {
  400: "The body is not JSON, or not complete.",
  401: "Nobody knows who asks.",
  404: "There is no such run, for whoever asks.",
  409: "It cannot be done any more, or the key belongs to something else.",
  412: "The run is under another epoch than the one that was seen.",
  413: "It is too large.",
  415: "The body is not said to be JSON.",
  422: "It is JSON, and not what is taken here. `errors` says what is wrong where.",
  500: "What is stored cannot be read, or cairn is wrong. Nothing was changed.",
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
  Location: { description: "Where the run is looked at.", schema: { type: "string" as const } },
};

const etag = {
  ETag: { description: "The resume token of the run.", schema: { type: "string" as const } },
};

export const startRoute = createRoute({
  method: "post",
  path: "/runs",
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
        "The key belongs to a run of another input (`KeyConflict`), or to one that has ended and whose data is gone (`Ended`).",
    },
    ...ofBody,
    ...every,
  },
});

export const runRoute = createRoute({
  method: "get",
  path: "/runs/{run}",
  operationId: "showRun",
  summary: "Shows a run, as `cairn show` does",
  request: { params: schemas.runParams, headers: schemas.runHeaders },
  responses: {
    200: { ...answer("The run.", schemas.runDocument), headers: etag },
    304: { description: "It is as that tag says.", headers: etag },
    404: problem(404),
    ...every,
  },
});

export const messageRoute = createRoute({
  method: "post",
  path: "/runs/{run}/messages",
  operationId: "sendMessage",
  summary: "Sends words to the model of a run",
  middleware: boundedBody,
  request: { params: schemas.runParams, headers: schemas.messageHeaders, body: body(schemas.messageBody) },
  responses: {
    200: answer("It was delivered before.", schemas.messageDocument),
    202: answer("It is delivered: the run will hear it.", schemas.messageDocument),
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
  summary: "Says that somebody answers; open to all, and reads nothing",
  security: [],
  responses: { 200: answer("Somebody answers.", schemas.healthDocument) },
});

export const ROUTES = [startRoute, runRoute, messageRoute, documentRoute, healthRoute] as const;
