/** Tasks of MCP, which are runs, and who may do what over `/mcp`. */
import { describe, expect, test } from "vitest";
import { type ProtocolServer, protocolServer } from "../../support/harness/protocol-server.ts";
import { type Form, anything, call, overHttp, startTask, textIn } from "./clients.ts";

describe("tasks", () => {
  test("are runs: a task completes with the result of its run", async () => {
    const server = await protocolServer();
    const { start, until } = await startTask(server);
    const taskId = await start("look");
    expect(await server.runs()).toEqual([taskId]);
    const { result } = await until(taskId, "completed");
    expect(textIn(result as object)).toBe("did look: succeeded");
  });

  test("complete with an error if the run fails", async () => {
    const { start, until } = await startTask(await protocolServer());
    const { result } = await until(await start("fail"), "completed");
    expect(result).toMatchObject({ isError: true });
  });

  test("ask for an approval, take it once, and go on", async () => {
    const server = await protocolServer();
    const human = (): Form => ({ action: "cancel" });
    const { start, ask, until } = await startTask(server, { human });
    const taskId = await start("send");
    const { inputRequests } = await until(taskId, "input_required");
    const [key = ""] = Object.keys(inputRequests as object);
    expect(key).toMatch(/^gate:/);
    // Who only closes the form has decided nothing.
    await ask("tasks/update", { taskId, inputResponses: { [key]: { action: "cancel" } } });
    const inputResponses = { [key]: { action: "accept", content: { decision: "approve" } }, "gate:other": {} };
    for (const _ of [1, 2]) await ask("tasks/update", { taskId, inputResponses });
    await until(taskId, "completed");
    expect(server.sent).toHaveLength(1);
  });

  test("show a run that waits as working to a client that cannot ask", async () => {
    const { start, until } = await startTask(await protocolServer());
    const taskId = await start("send");
    await expect.poll(async () => (await until(taskId, "working"))["statusMessage"]).toMatch(/^waiting: /);
  });

  test("are cancelled, also twice", async () => {
    const { start, ask, until } = await startTask(await protocolServer());
    const taskId = await start("send");
    await ask("tasks/cancel", { taskId });
    await until(taskId, "cancelled");
    await ask("tasks/cancel", { taskId });
  });

  test("of another tenant are unknown, and so are tasks that never were", async () => {
    const server = await protocolServer({ isOpen: false });
    const all = ["runs:read", "runs:write", "approve"] as const;
    const ours = await startTask(server, { token: await server.tokenFor(all) });
    const taskId = await ours.start("send");
    const theirs = await startTask(server, { token: await server.tokenFor(all, "acme") });
    for (const method of ["tasks/get", "tasks/cancel"]) {
      await expect(theirs.ask(method, { taskId })).rejects.toThrow(/RunUnknown/);
      await expect(ours.ask(method, { taskId: "../../etc" })).rejects.toThrow(/RunUnknown/);
    }
    const inputResponses = {};
    await expect(theirs.ask("tasks/update", { taskId, inputResponses })).rejects.toThrow(/RunUnknown/);
    await ours.until(taskId, "working");
  });

  test("need the extension on each request", async () => {
    const server = await protocolServer();
    const { start } = await startTask(server);
    const taskId = await start("look");
    const plain = await overHttp(server);
    await expect(plain.request({ method: "tasks/get", params: { taskId } }, anything)).rejects.toThrow(/capabilit/i);
  });
});

describe("access", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } },
  };
  const post = ({ url }: ProtocolServer, headers: Record<string, string> = {}, body = JSON.stringify(initialize)) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
      body,
    });

  test("refuses a request without a token before it is read, and an unknown token", async () => {
    const server = await protocolServer({ isOpen: false });
    for (const headers of [{}, { authorization: "Bearer cairn_no" }]) {
      const refused = await post(server, headers, "not even JSON");
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toMatch(/^Bearer/);
    }
  });

  test("refuses what the scopes of the token do not allow, by name", async () => {
    const server = await protocolServer({ isOpen: false });
    const reader = await overHttp(server, { token: await server.tokenFor(["runs:read"]) });
    expect(textIn(await reader.callTool(call("look")))).toMatch(/^ScopeMissing/);
    const writer = await overHttp(server, {
      token: await server.tokenFor(["runs:read", "runs:write"]),
      human: () => ({ action: "accept", content: { decision: "approve" } }),
    });
    expect(textIn(await writer.callTool(call("send")))).toMatch(/^ScopeMissing.*approve/);
    expect(server.sent).toEqual([]);
    const blind = await overHttp(server, { token: await server.tokenFor(["runs:write"]) });
    await expect(blind.listTools()).rejects.toThrow(/ScopeMissing/);
  });

  test("does not follow a run that the state of a request names, if it is of another tenant", async () => {
    const server = await protocolServer({ isOpen: false });
    const all = ["runs:read", "runs:write", "approve"] as const;
    const ours = await startTask(server, { token: await server.tokenFor(all) });
    const requestState = await ours.start("send");
    const stolen = await post(
      server,
      {
        authorization: `Bearer ${await server.tokenFor(all, "acme")}`,
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "clerk",
      },
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: {
          ...call("send"),
          requestState,
          inputResponses: {},
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    );
    expect(await stolen.text()).toContain("RunUnknown");
  });

  test.each([
    ["another origin", { origin: "https://evil.example" }],
    ["an opaque origin", { origin: "null" }],
  ])("refuses a page of %s", async (_, headers) => {
    const refused = await post(await protocolServer(), headers);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ code: "OriginRefused" });
  });

  test("refuses a body above the bound, and JSON that is none", async () => {
    const server = await protocolServer();
    expect((await post(server, {}, JSON.stringify({ ...initialize, x: "x".repeat(2_600 * 1024) }))).status).toBe(413);
    expect((await post(server, {}, "{")).status).toBe(400);
  });
});
