/** Links to resources in results of MCP tools: a tool reads them, and nothing else. */
import { serve } from "@hono/node-server";
import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { defineAgent, scriptedModel } from "../../src/index.ts";
import { runAgent } from "../../src/testing/kit/index.ts";
import type { Agent } from "../../src/ports/agent.ts";
import type { McpServerOptions } from "../../src/mcp-tools/index.ts";
import { serverOf } from "./desk.ts";

const LINK = "desk://reports/may";
const OTHER = "desk://reports/secret";

/** A desk over HTTP, whose tool `find` gives a link; `read`: the addresses that were read. */
async function desk(
  of: { readonly structured?: true; readonly without?: true; readonly passesOn?: true } = {},
  options: Partial<McpServerOptions> = {},
) {
  const read: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "desk", version: "1" }, { capabilities: { tools: {} } });
    const link = { type: "resource_link" as const, uri: LINK, name: "May" };
    const schemas = {
      inputSchema: z.object({}),
      ...(of.structured && { outputSchema: z.object({ count: z.number() }) }),
      ...(of.passesOn && { outputSchema: z.object({ links: z.array(z.object({ uri: z.string() })) }) }),
    };
    const answer = { content: [link, { type: "text", text: `no link, ${OTHER}` }] };
    const pageOf = { content: [], structuredContent: { links: [{ uri: OTHER }] } };
    const plain = of.passesOn ? pageOf : answer;
    const find = async () => (of.structured ? { ...answer, structuredContent: { count: 1 } } : plain);
    server.registerTool("find", schemas as never, find as never);
    for (const uri of of.without ? [] : [LINK, OTHER]) {
      server.registerResource(uri, uri, {}, async () => {
        read.push(uri);
        return { contents: [{ uri, text: `what ${uri} says` }] };
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
  const url = `http://127.0.0.1:${await promise}/mcp`;
  return { read, source: serverOf({ name: "desk", url, effects: { find: "none" }, ...options }) };
}

/** A run that calls these tools, one after the other; the results of its calls. */
async function resultsOf(
  source: Awaited<ReturnType<typeof desk>>["source"],
  plan: readonly (readonly [string, object])[],
) {
  const agent = defineAgent({
    ...{ name: "clerk", version: "1", instructions: "", task: z.object({}), tools: {}, mcp: [source], loops: "ignore" },
    model: scriptedModel({
      name: "script",
      reply: ({ calls }) => {
        const next = plan[calls.length];
        return next === undefined ? { text: "over" } : { calls: [{ tool: next[0], args: next[1] as never }] };
      },
    }),
    result: ({ calls }) => calls.map(({ result }) => result),
  } as Parameters<typeof defineAgent>[0]) as Agent;
  const run = await runAgent(agent, { input: {} });
  expect(run.status).toBe("completed");
  return run.result as readonly unknown[];
}

test("a link of a result is read in the run that was given it, and an address that is no link is not", async () => {
  const { read, source } = await desk();
  const results = await resultsOf(source, [
    ["desk_read_resource", { uri: LINK }],
    ["desk_find", {}],
    ["desk_read_resource", { uri: LINK }],
    ["desk_read_resource", { uri: OTHER }],
  ]);
  expect(results[0]).toMatch(/^.*no result of MCP server desk in this run has a link to desk:\/\/reports\/may/);
  expect(results[1]).toEqual({ text: `no link, ${OTHER}`, links: [{ name: "May", uri: LINK }] });
  expect(results[2]).toBe(`what ${LINK} says`);
  expect(results[3]).toContain("copy the address from a result");
  expect(read).toEqual([LINK]);
  // Another run was given nothing.
  const [other] = await resultsOf(source, [["desk_read_resource", { uri: LINK }]]);
  expect(other).toContain("has a link to");
  expect(read).toEqual([LINK]);
});

test("a link beside structured content is kept, and is read", async () => {
  const { source } = await desk({ structured: true });
  const results = await resultsOf(source, [
    ["desk_find", {}],
    ["desk_read_resource", { uri: LINK }],
  ]);
  expect(results).toEqual([{ structured: { count: 1 }, links: [{ name: "May", uri: LINK }] }, `what ${LINK} says`]);
});

test("what structured content passes on as links is no link of the server, and is not read", async () => {
  const { read, source } = await desk({ passesOn: true });
  const results = await resultsOf(source, [
    ["desk_find", {}],
    ["desk_read_resource", { uri: OTHER }],
  ]);
  expect(results[0]).toEqual({ structured: { links: [{ uri: OTHER }] } });
  expect(results[1]).toContain("copy the address from a result");
  expect(read).toEqual([]);
});

test.each([
  ["a server without resources", { without: true }, {}, []],
  ["only, without its name", {}, { only: ["find"] }, []],
  ["only, with its name", {}, { only: ["find", "read_resource"] }, ["desk_read_resource"]],
] as const)("with %s the tool is offered as the server and its options say", async (_, of, options, offered) => {
  const { source } = await desk(of as object, options as object);
  const secrets = { get: (name: string) => Promise.reject(new Error(`no ${name}`)) };
  const tools = await source.list({ secrets, mayBeOld: false, now: 0 });
  expect(Object.keys(tools)).toEqual(["desk_find", ...offered]);
  expect(source.leftOut?.()).toEqual([]);
});
