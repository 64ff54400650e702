/** MCP servers over HTTP with sessions, which they forget when they restart or when a session is old. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { NO_SECRETS, serverOf } from "./desk.ts";

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const TOOLS = [{ name: "post", inputSchema: { type: "object" } }];

/** Its tool `post` says how often it was called. `status`: the answer to a session that the server does not know. */
async function forgetfulServer(status: number) {
  const known = new Set<unknown>();
  const seen = { calls: 0, connections: 0, keeps: true };
  const resultOf = ({ method, params }: Message): object => {
    if (method === "tools/list") return { tools: TOOLS };
    if (method === "tools/call") return { content: [{ type: "text", text: `call ${(seen.calls += 1)}` }] };
    const { protocolVersion } = params ?? {};
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "desk", version: "1" } };
  };
  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = (await json(request)) as Message;
    const { id, method } = message;
    const begins = method === "initialize";
    if (!begins && !known.has(request.headers["mcp-session-id"])) return response.writeHead(status).end("who?");
    if (id === undefined) return response.writeHead(202).end();
    const name = randomUUID();
    if (begins) seen.connections += 1;
    if (begins && seen.keeps) known.add(name);
    response.writeHead(200, { "content-type": "application/json", ...(begins && { "mcp-session-id": name }) });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(message) }));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const source = serverOf({ name: "desk", url });
  const { desk_post: post } = await source.list({ secrets: NO_SECRETS, mayBeOld: false, now: 0 });
  const of = { input: {}, key: "key-1", secrets: NO_SECRETS, signal: new AbortController().signal };
  return { seen, known, call: () => post?.run(of as never) as Promise<unknown> };
}

test.each([404, 400])("sends a call again when its session was forgotten, which is answered by %i", async (status) => {
  const { seen, known, call } = await forgetfulServer(status);
  expect(await call()).toBe("call 1");
  known.clear();
  expect(await call()).toBe("call 2");
  expect(seen).toMatchObject({ calls: 2, connections: 2 });
});

test("fails a call that a server without a memory for sessions does not take twice", async () => {
  const { seen, known, call } = await forgetfulServer(404);
  known.clear();
  seen.keeps = false;
  await expect(call()).rejects.toThrow(/^MCP server desk (did not take the call|cannot be reached)/);
  expect(seen.calls).toBe(0);
});
