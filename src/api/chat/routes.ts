/**
 * The routes of the chat protocols, for the OpenAPI document. The servers that stream add their handlers
 * (`src/integrations/chat/routes.ts`, `src/integrations/ag-ui/routes.ts`); the API on AWS has none of them. The handlers
 * read each request field by field, because its schema belongs to another project and changes with it.
 */
import { type RouteConfig, createRoute, z } from "@hono/zod-openapi";
import type { Scope } from "../../operations/operation.ts";
import { boundedBody } from "../body.ts";
import {
  agUiBody,
  agUiEvent,
  agentParams,
  chatBody,
  chatParams,
  historyDocument,
  streamParams,
  streamQuery,
  uiEvent,
} from "./schemas.ts";
import { answerSchema, body, every, ofBody, problem, retryAfter } from "../route-parts.ts";
import { messageDocument, runParams } from "../schemas.ts";

/** The tag of these routes. */
export const CHAT_TAG = {
  name: "chat",
  description:
    "Chat protocols, as `cairn dev`, `cairn serve` and `cairn-run/server` serve them. Not on AWS: its API does not stream, and answers 404 `PathUnknown`.",
} as const;

const needs = (...scopes: readonly Scope[]) => ({
  tags: [CHAT_TAG.name],
  security: [{ token: [...scopes] }, { jwt: [...scopes] }],
});

const text = (description: string) => ({ description, schema: { type: "string" as const } });

const streamVersion = { "x-vercel-ai-ui-message-stream": text("`v1`.") };

const stream = (description: string, schema: typeof uiEvent) => ({
  description,
  content: { "text/event-stream": { schema } },
});

const uiStream = stream(
  "Server-sent events, of which the schema describes each. The stream ends with its answer.",
  uiEvent,
);

const streams = {
  ...every,
  429: {
    ...problem(429),
    headers: retryAfter,
    description:
      "As many readers follow the run, or with this token, as the server allows (`TooManyReaders`); or the tenant has sent as many requests as it may (`TooManyRequests`). `Retry-After` says when to send it again.",
  },
  503: {
    ...problem(503),
    headers: retryAfter,
    description: "The store cannot be used now, or as many streams are open as the server allows (`TooManyStreams`).",
  },
};

/** What a message or a decision may be answered with. */
const refusals = {
  404: {
    ...problem(404),
    description:
      "There is no such agent (`AgentUnknown`), or nothing can have that name, or decides about it (`RunUnknown`).",
  },
  409: {
    ...problem(409),
    description:
      "The run has ended (`Late`, `Ended`), the id belongs to a message with another text (`MessageConflict`), or the decision or answer counts no more (`Duplicate`, `Stale`).",
  },
  ...ofBody,
  415: {
    ...problem(415),
    description: "The content type of the body is not JSON, or the message holds something else than text.",
  },
  ...streams,
};

const runStreamRoute = createRoute({
  method: "get",
  path: "/runs/{run}/stream",
  operationId: "streamRun",
  ...needs("runs:read"),
  summary: "Streams the last answer of a run to the AI SDK's useChat (not on AWS)",
  request: { params: runParams, query: streamQuery, uiEvent },
  responses: { 200: { ...uiStream, headers: streamVersion }, 404: problem(404), ...streams },
});

const historyRoute = createRoute({
  method: "get",
  path: "/chat/{agent}/{chat}",
  operationId: "showChat",
  ...needs("runs:read"),
  summary: "The messages of a chat before its last answer, which the stream gives (not on AWS)",
  request: { params: chatParams },
  responses: {
    200: answerSchema("The messages; none where the chat has not begun.", historyDocument),
    404: { ...problem(404), description: "No chat can have that name (`RunUnknown`)." },
    ...every,
  },
});

const turnRoute = createRoute({
  method: "post",
  path: "/chat/{agent}/{chat}",
  operationId: "chat",
  ...needs("runs:read", "runs:write"),
  summary: "A message or decisions of the AI SDK's useChat, and the stream of the answer (not on AWS)",
  description: "Decisions need the scope `approve` instead of `runs:write`. The same message id twice is one message.",
  middleware: boundedBody,
  request: { params: chatParams, body: { ...body(chatBody), required: true } },
  responses: {
    200: {
      ...uiStream,
      headers: { ...streamVersion, "x-workflow-run-id": text("What the client follows: the `stream` to go on with.") },
    },
    ...refusals,
  },
});

const stopRoute = createRoute({
  method: "post",
  path: "/chat/{agent}/{chat}/stop",
  operationId: "stopAnswer",
  ...needs("runs:write"),
  summary: "Ends the answer under way of a chat, which waits for the next message (not on AWS)",
  middleware: boundedBody,
  request: { params: chatParams, body: { ...body(z.object({}).loose()), required: true } },
  responses: {
    202: answerSchema("It is delivered: the run will read it.", messageDocument),
    400: problem(400),
    404: { ...problem(404), description: "The chat has not begun, or no chat can have that name (`RunUnknown`)." },
    409: { ...problem(409), description: "The run has ended (`Late`)." },
    413: problem(413),
    415: problem(415),
    422: { ...problem(422), description: "A number of the body cannot be kept as it is (`RequestInvalid`)." },
    ...every,
  },
});

const chatStreamRoute = createRoute({
  method: "get",
  path: "/chat/{agent}/{chat}/{stream}/stream",
  operationId: "streamChat",
  ...needs("runs:read"),
  summary: "Goes on with a stream of a chat (not on AWS)",
  request: { params: streamParams, query: streamQuery, uiEvent },
  responses: { 200: { ...uiStream, headers: streamVersion }, 404: problem(404), ...streams },
});

const agUiRoute = createRoute({
  method: "post",
  path: "/ag-ui/{agent}",
  operationId: "agUi",
  ...needs("runs:read", "runs:write"),
  summary: "One run of AG-UI 1.0: a message or decisions, and the stream of the answer (not on AWS)",
  description: "Decisions need the scope `approve` instead of `runs:write`. The same message id twice is one message.",
  middleware: boundedBody,
  request: { params: agentParams, body: { ...body(agUiBody), required: true } },
  responses: {
    200: stream(
      "Server-sent events, from `RUN_STARTED` to the end of the answer; the schema describes each.",
      agUiEvent,
    ),
    ...refusals,
  },
});

export const CHAT_ROUTES: readonly RouteConfig[] = [
  runStreamRoute,
  historyRoute,
  turnRoute,
  stopRoute,
  chatStreamRoute,
  agUiRoute,
];
