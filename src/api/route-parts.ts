/** What the routes have in common: their problems, bodies and headers, as the OpenAPI document has them. */
import type { z } from "@hono/zod-openapi";
import * as schemas from "./schemas.ts";

const PROBLEMS = {
  400: "The body is not JSON, or not complete.",
  401: "The caller is not known: the request has no valid token or signature.",
  403: "The caller lacks the scope of this operation.",
  404: "There is no such run, or it belongs to another tenant.",
  409: "It cannot be done any more, or the key was used for another request.",
  412: "The epoch of the run is not the one that the tag names.",
  413: "It is too large.",
  415: "The content type of the body is not JSON.",
  422: "It is JSON, but does not match the schema. `errors` lists what is wrong and where.",
  429: "The tenant has sent as many requests as it may, or used what it may start or spend (`TenantBudgetSpent`), or too many readers follow the run or use the token (`TooManyReaders`). `Retry-After` says when to send it again.",
  500: "The stored data cannot be read, or cairn has a bug. Nothing was changed.",
  503: "The store cannot be used now, or the server follows runs for as many readers as it may (`TooManyStreams`). The same request may be sent again, after `Retry-After` if the answer has it.",
} as const;

export type ProblemStatus = keyof typeof PROBLEMS;

export const problem = (status: ProblemStatus) => ({
  description: PROBLEMS[status],
  content: { "application/problem+json": { schema: schemas.problemDocument } },
});

export const retryAfter = {
  "Retry-After": { description: "In how many seconds to send it again.", schema: { type: "string" as const } },
};

export const every = {
  401: problem(401),
  403: problem(403),
  429: { ...problem(429), headers: retryAfter },
  500: problem(500),
  503: problem(503),
};
export const ofBody = { 400: problem(400), 413: problem(413), 415: problem(415), 422: problem(422) };

export const answerSchema = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

/** A body whose fields may all be absent may be absent itself. */
export const body = <Schema extends z.ZodType>(schema: Schema) => ({
  required: !schema.safeParse({}).success,
  content: { "application/json": { schema } },
});

export const location = {
  Location: { description: "The path that shows the run.", schema: { type: "string" as const } },
};

export const etag = {
  ETag: { description: "The resume token of the run.", schema: { type: "string" as const } },
};
