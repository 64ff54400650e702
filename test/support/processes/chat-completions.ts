/**
 * A provider on this machine: a real HTTP server for OpenAI chat completions. Its response is a function of
 * the request, and it can fail in every way that the network allows.
 */
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

interface ChatMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly reasoning_content?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[];
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly type: "function"; readonly function: { readonly name: string } }[];
}

/** `args` becomes JSON; a string is sent unchanged. */
interface ChatCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>> | string;
  /** A Gemini thought signature, which must be sent back with the call. */
  readonly signature?: string;
}

export type ChatAnswer =
  | {
      readonly kind: "reply";
      readonly text?: string;
      readonly reasoning?: string;
      readonly calls?: readonly ChatCall[];
      readonly finish?: string;
      /** null: the server reports none. */
      readonly usage?: { readonly in: number; readonly out: number } | null;
    }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly message?: string;
      readonly code?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Exactly these bytes. */
  | { readonly kind: "raw"; readonly status?: number; readonly body: string }
  /** Never responds. */
  | { readonly kind: "hang" }
  /** Closes the connection before or during the response. */
  | { readonly kind: "drop"; readonly after: "nothing" | "half" };

interface Asked {
  readonly body: ChatRequest;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface ChatServer extends AsyncDisposable {
  /** The base URL including `/v1`. */
  readonly url: string;
  /** The requests so far, in order. */
  readonly asked: readonly Asked[];
  /** Resolves when the server has read its next request. */
  nextAsked(): Promise<Asked>;
}

/** Listens on a free port of 127.0.0.1. `answer` also gets the number of earlier requests. */
export async function startChatServer(
  answer: (request: ChatRequest, before: number) => ChatAnswer | Promise<ChatAnswer>,
): Promise<ChatServer> {
  const asked: Asked[] = [];
  let waiting: ((request: Asked) => void)[] = [];
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as ChatRequest;
    const one: Asked = { body, path: request.url ?? "", headers: request.headers };
    const told = waiting;
    waiting = [];
    asked.push(one);
    for (const tell of told) tell(one);
    give(await answer(body, asked.length - 1), { request, response });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    nextAsked: () => new Promise((resolve) => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function give(answer: ChatAnswer, to: { request: IncomingMessage; response: ServerResponse }): void {
  const { request, response } = to;
  switch (answer.kind) {
    case "reply":
      response.setHeader("content-type", "application/json").end(JSON.stringify(completion(answer)));
      return;
    case "error": {
      const { status, message = "no", code = null, headers = {} } = answer;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ error: { message, type: "error", param: null, code } }));
      return;
    }
    case "raw":
      response.writeHead(answer.status ?? 200, { "content-type": "application/json" }).end(answer.body);
      return;
    case "hang":
      return;
    case "drop":
      if (answer.after === "nothing") request.socket.destroy();
      else response.writeHead(200, { "content-length": 1_000 }).write('{"choices"', () => request.socket.destroy());
  }
}

function completion(reply: Extract<ChatAnswer, { kind: "reply" }>) {
  const { text = null, reasoning, calls = [], usage = { in: 10, out: 5 } } = reply;
  const toolCalls = calls.map(({ tool, args, signature }, index) => ({
    id: `call_${index}`,
    type: "function",
    function: { name: tool, arguments: typeof args === "string" ? args : JSON.stringify(args) },
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
  }));
  const message = {
    role: "assistant",
    content: text,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1_700_000_000,
    model: "m",
    choices: [{ index: 0, message, finish_reason: reply.finish ?? (calls.length > 0 ? "tool_calls" : "stop") }],
    ...(usage === null ? {} : { usage: { prompt_tokens: usage.in, completion_tokens: usage.out } }),
  };
}
