/** MCP servers over HTTP that need a token: wrong, expired and renewed ones, and what a run does about each. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { McpToken } from "../../src/mcp-tools/index.ts";
import type { ToolSource } from "../../src/ports/agent.ts";
import { runAgent } from "../../src/testing/kit/index.ts";
import { callingAgent, serverOf } from "./desk.ts";
import { guardedServer } from "./guarded-server.ts";

const OLD = "opaque-value-of-the-old-one";
const NEW = "opaque-value-of-the-new-one";

const hide = vi.fn<(name: string, value: string) => void>();
const SECRETS = { get: async () => OLD, hide };
const listOf = (source: ToolSource) => source.list({ secrets: SECRETS, mayBeOld: false, now: 0 });

async function callOf(source: ToolSource) {
  const { desk_look: look } = await listOf(source);
  const call = { input: { text: "a" }, key: "key-1", secrets: SECRETS, signal: new AbortController().signal };
  return () => look?.run(call as never) as Promise<unknown>;
}

test("a token is asked for once, and is used until the server refuses it", async () => {
  const server = await guardedServer([OLD]);
  const token = vi.fn<McpToken>(async () => OLD);
  const call = await callOf(serverOf({ name: "desk", url: server.url, token }));
  expect([await call(), await call()]).toEqual([`seen with ${OLD}`, `seen with ${OLD}`]);
  expect(token).toHaveBeenCalledTimes(1);
  expect(token.mock.calls[0]?.[1]).toMatchObject({ refused: null });
  expect(hide).toHaveBeenCalledWith("MCP_DESK_TOKEN", OLD);
});

test("an expired token is replaced, and no call happens twice", async () => {
  const server = await guardedServer([OLD]);
  const token = vi.fn<McpToken>(async (_, { refused }) => (refused === null ? OLD : NEW));
  const call = await callOf(serverOf({ name: "desk", url: server.url, token }));
  server.valid.delete(OLD);
  server.valid.add(NEW);
  // Two calls that are refused at the same time ask for one token.
  expect(await Promise.all([call(), call()])).toEqual([`seen with ${NEW}`, `seen with ${NEW}`]);
  expect(server.calls).toEqual([NEW, NEW]);
  expect(token.mock.calls.map(([, { refused }]) => refused)).toEqual([null, OLD]);
  expect(hide).toHaveBeenLastCalledWith("MCP_DESK_TOKEN", NEW);
});

test("a call whose token is refused fails, was not started, and says what to do", async () => {
  const server = await guardedServer([OLD]);
  const call = await callOf(
    serverOf({ name: "desk", url: server.url, token: async (secrets) => secrets.get("TOKEN") }),
  );
  server.valid.clear();
  const failed = await call().then(
    () => null,
    (error: unknown) => error as Error,
  );
  expect(failed?.name).toBe("Error");
  expect(failed?.message).toBe(
    "MCP server desk refused the call: it answered 401; invalid_token: The access token expired; " +
      "http://127.0.0.1/.well-known/oauth-protected-resource names the authorization servers; " +
      "put a valid token into the secret, or let token of mcpServer return a new one",
  );
  expect(server.calls).toEqual([]);
});

test.each([
  [
    "no token",
    {},
    /refuses access: it answered 401; .*; write token: \(secrets\) => secrets\.get\("NAME"\) in mcpServer$/,
  ],
  [
    "a wrong header",
    { headers: { authorization: "Bearer wrong" } },
    /put a valid token into the secret of its headers$/,
  ],
  ["a token function that fails", { token: () => Promise.reject(new Error("no one signed in")) }, /no one signed in$/],
  ["a token with a line break", { token: () => `${NEW}\n` }, /returned no token: return a text of visible ASCII/],
  ["a token that is no text", { token: () => 7 as never }, /returned no token/],
])("a list with %s is refused, and its error shows no token", async (_, options, why) => {
  const server = await guardedServer([NEW]);
  const listed = listOf(serverOf({ name: "desk", url: server.url, ...options }));
  await expect(listed).rejects.toThrow(why);
  await expect(listed).rejects.not.toThrow(NEW);
});

test("a list is refused whose token does not come within half of the time to connect", async () => {
  const limit = new AbortController();
  const limited = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  onTestFinished(() => limited.mockRestore());
  const token: McpToken = () => {
    queueMicrotask(() => limit.abort());
    return new Promise<never>(() => {});
  };
  const server = await guardedServer([NEW]);
  const listed = listOf(serverOf({ name: "desk", url: server.url, token, connectMs: 2_400_000 }));
  await expect(listed).rejects.toThrow(/its token function gave no token within 1200000 ms/);
  expect(limited).toHaveBeenCalledExactlyOnceWith(1_200_000);
});

test("a refusal for want of a scope names the scope", async () => {
  const server = await guardedServer();
  server.refusal = { status: 403, challenge: 'Bearer error="insufficient_scope", scope="files:read files:write"' };
  const listed = listOf(serverOf({ name: "desk", url: server.url, token: () => OLD }));
  await expect(listed).rejects.toThrow(
    /refuses access: it answered 403; insufficient_scope; it asks for the scope files:read files:write; put a valid/,
  );
});

test("a run waits while its token is refused, goes on with a new one, and records neither", async () => {
  const server = await guardedServer([NEW]);
  let asked = 0;
  const token: McpToken = () => {
    asked += 1;
    return asked < 5 ? OLD : NEW;
  };
  const source = serverOf({ name: "desk", url: server.url, token });
  const run = await runAgent(callingAgent({ source, tools: ["desk_look"] }), { input: {} });
  expect({ status: run.status, calls: run.calls.map(({ status }) => status) }).toEqual({
    status: "completed",
    calls: ["succeeded"],
  });
  const recorded = JSON.stringify(run.timeline);
  expect(recorded).toContain("it answered 401; invalid_token");
  expect(recorded).toContain("seen with [secret MCP_DESK_TOKEN]");
  expect(JSON.stringify(run)).not.toMatch(/opaque-value/);
});
