/** Servers that refuse the output of their own tool, which has acted by then. */
import { serve } from "@hono/node-server";
import { McpServer, ProtocolError, createMcpHandler } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Effect } from "../../src/core/calls/effects.ts";
import { serverOf } from "./desk.ts";

const SECRETS = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };
const REFUSED = "Output validation error: Invalid structured content for tool post: sum must be a number";

/** Calls the only tool of a server over HTTP. `answer`: in place of the one that the SDK makes. */
async function callPost(effect: Effect, answer?: () => never | { readonly text: string }): Promise<unknown> {
  const acted: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
    const schemas = { inputSchema: z.object({ text: z.string() }), outputSchema: z.object({ sum: z.number() }) };
    server.registerTool("post", schemas, async ({ text }) => {
      acted.push(text);
      return { content: [], structuredContent: { sum: "none" } } as never;
    });
    if (answer !== undefined) {
      server.server.setRequestHandler("tools/call", () => {
        acted.push("a");
        return { isError: true, content: [{ type: "text", ...answer() }] };
      });
    }
    return server;
  });
  const { promise, resolve } = Promise.withResolvers<number>();
  const listening = serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => handler.fetch(request) }, ({ port }) =>
    resolve(port),
  );
  onTestFinished(async () => {
    (listening as unknown as { closeAllConnections: () => void }).closeAllConnections();
    listening.close();
    await handler.close();
  });
  const source = serverOf({ name: "desk", url: `http://127.0.0.1:${await promise}/mcp`, effects: { post: effect } });
  const { desk_post: post } = await source.list({ secrets: SECRETS, mayBeOld: false, now: 0 });
  const call = { input: { text: "a" }, key: "key-1", secrets: SECRETS, signal: new AbortController().signal };
  try {
    return await post?.run(call as never);
  } catch (error) {
    expect(acted).toEqual(["a"]);
    return error;
  }
}

const asErrorOf = (code: number, text: string) => (): never => {
  throw new ProtocolError(code, text);
};

test.each([
  ["by the SDK in use", undefined],
  ["by version 1 of the SDK", () => ({ text: `MCP error -32602: ${REFUSED}` })],
  ["as an error of the request", asErrorOf(-32_602, REFUSED)],
  ["as an error of the request, with its code in the text", asErrorOf(-32_602, `MCP error -32602: ${REFUSED}`)],
])("an output that is refused %s leaves an unknown outcome", async (_, answer) => {
  const text = /^MCP server desk (refused the output of its own tool|failed in the call): .*Output validation error: /;
  for (const effect of ["unsafe", "keyed", "idempotent"] as const) {
    expect(await callPost(effect, answer)).toMatchObject({
      name: "OutcomeUnknown",
      message: expect.stringMatching(text) as string,
    });
  }
  // It may run again in any case, and the model reads why.
  expect(await callPost("none", answer)).toMatchObject({ name: "Error" });
});

test.each([
  ["of the tool itself", () => ({ text: "the desk had no output, validation error" }), /^the desk had no output/],
  [
    "about the arguments",
    asErrorOf(-32_602, "Input validation error: Invalid arguments for tool post"),
    /^MCP server desk refused the call: Input validation error/,
  ],
])("an error %s is a failure", async (_, answer, message) => {
  expect(await callPost("unsafe", answer)).toMatchObject({
    name: "Error",
    message: expect.stringMatching(message) as string,
  });
});
