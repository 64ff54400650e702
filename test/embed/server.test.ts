/** The API as a handler of a user's own server: who may ask, below which path, and after which errors. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type ApiServer, SCOPES, type ServerOptions, createServer } from "../../src/embed/server.ts";
import { createToken } from "../../src/operations/access/tokens.ts";
import { withKernel } from "../../src/features/compose.ts";
import { localWorld } from "../../src/adapters/local/world.ts";
import { limitsFor } from "../../src/protocol/limits.ts";
import { open, temporaryDir } from "../process/fixtures/store.ts";

const AGENT = `
import { check, defineAgent, scriptedModel } from "cairn-run";
import { z } from "zod";
export const clerk = defineAgent({
  name: "clerk", version: "1", instructions: "Answer.", model: scriptedModel({ name: "m", reply: () => ({ text: "Done." }) }),
  task: z.object({ to: z.string() }), tools: {}, done: [check("any", () => true)],
  price: { inUsd: 1, outUsd: 5 }, budget: { usd: 1, beats: 3 },
});
`;

async function serverWith(
  options: Omit<ServerOptions, "store" | "cwd">,
): Promise<ApiServer & { readonly dir: string }> {
  const dir = temporaryDir();
  // Vitest resolves the imports of the agent itself, so it needs both packages beside it.
  const root = join(import.meta.dirname, "..", "..");
  mkdirSync(join(dir, "node_modules"));
  symlinkSync(root, join(dir, "node_modules", "cairn-run"));
  symlinkSync(join(root, "node_modules", "zod"), join(dir, "node_modules", "zod"));
  writeFileSync(join(dir, "agent.ts"), AGENT);
  writeFileSync(join(dir, "cairn.config.ts"), 'export const config = { agents: ["./agent.ts"] };\n');
  const server = await createServer({ ...options, store: join(dir, "store"), cwd: dir });
  onTestFinished(server.close);
  return { ...server, dir };
}

const as = (scopes: readonly string[], tenant = "acme") =>
  serverWith({
    base: "/cairn",
    auth: async (request) =>
      request.headers.get("cookie") === "user=ann"
        ? { tenant, actor: "ann", scopes: SCOPES.filter((scope) => scopes.includes(scope)) }
        : null,
  });

const ask = (server: ApiServer, path: string, init: RequestInit = {}): Promise<Response> =>
  server.fetch(new Request(`https://shop.example${path}`, init));

const ANN = { cookie: "user=ann", "content-type": "application/json" };
const start = { method: "POST", body: '{"agent":"clerk","input":{"to":"Ann"}}', headers: ANN };

test("starts a run for the tenant that the user's server names, and its location is below the base", async () => {
  const server = await as(SCOPES);
  const started = await ask(server, "/cairn/runs", start);
  expect(started.status).toBe(202);
  expect(started.headers.get("location")).toMatch(/^\/cairn\/runs\/acme-/);
  const listed = await ask(server, "/cairn/runs", { headers: ANN });
  expect(await listed.json()).toMatchObject({ runs: [{ agent: "clerk" }] });
  const { agents } = (await (await ask(server, "/cairn/agents", { headers: ANN })).json()) as { agents: unknown[] };
  expect(agents).toMatchObject([{ name: "clerk" }]);
});

test("refuses callers that the user's server does not know, scopes they lack, and other paths", async () => {
  const server = await as(["runs:read"]);
  const unknown = await ask(server, "/cairn/runs");
  expect(unknown.status).toBe(401);
  // Not how an unknown caller of AWS signs its request.
  expect(await unknown.json()).toMatchObject({ detail: expect.stringContaining("the login of this server") });
  expect(unknown.headers.get("www-authenticate")).toBeNull();
  expect((await ask(server, "/cairn/runs", start)).status).toBe(403);
  for (const path of ["/runs", "/cairnruns", "/"])
    expect(await (await ask(server, path, { headers: ANN })).json()).toMatchObject({ code: "PathUnknown" });
  expect((await ask(server, "/cairn/healthz")).status).toBe(200);
});

test("streams a run's events only to a caller of its tenant", async () => {
  const server = await as(SCOPES);
  const at = (await ask(server, "/cairn/runs", start)).headers.get("location") ?? "";
  const stream = { ...ANN, accept: "text/event-stream" };
  const streamed = await ask(server, `${at}/events`, { headers: stream });
  expect(streamed.headers.get("content-type")).toBe("text/event-stream");
  await streamed.body?.cancel();
  expect((await ask(server, `${at}/events`, { headers: { accept: "text/event-stream" } })).status).toBe(401);
});

test("serves the agents as tools of MCP below its path, to callers that the user's server knows, and to no other page", async () => {
  const server = await as(SCOPES);
  const list = { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}' };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  expect((await ask(server, "/cairn/mcp", { ...list, headers })).status).toBe(401);
  const asAnn = { ...headers, ...ANN, host: "shop.example" };
  const stolen = await ask(server, "/cairn/mcp", { ...list, headers: { ...asAnn, origin: "https://evil.example" } });
  expect(stolen.status).toBe(403);
  expect(await stolen.json()).toMatchObject({ code: "OriginRefused" });
  for (const more of [{}, { origin: "https://shop.example" }]) {
    const listed = await ask(server, "/cairn/mcp", { ...list, headers: { ...asAnn, ...more } });
    expect(await listed.text()).toContain('"name":"clerk"');
  }
});

test("serves each agent over A2A below its path, and its card has that address", async () => {
  const server = await as(SCOPES);
  const path = "/cairn/a2a/clerk";
  expect((await ask(server, `${path}/.well-known/agent-card.json`)).status).toBe(401);
  const card = await ask(server, `${path}/.well-known/agent-card.json`, { headers: ANN });
  expect(await card.json()).toMatchObject({
    name: "clerk",
    supportedInterfaces: [
      { url: expect.stringMatching(/^https:\/\/shop.example\/cairn\/a2a\/clerk$/), protocolVersion: "1.0" },
    ],
  });
  const get = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"local-none"}}';
  const found = await ask(server, path, { method: "POST", body: get, headers: ANN });
  expect(await found.json()).toMatchObject({ id: 1, error: { code: -32_001 } });
});

test("answers an error of its own if the user's server names an impossible tenant", async () => {
  const server = await as(SCOPES, "../other");
  expect((await ask(server, "/cairn/runs", { headers: ANN })).status).toBe(500);
});

test("identifies callers by access tokens if that is what it was given", async () => {
  const server = await serverWith({ auth: "tokens" });
  expect((await ask(server, "/runs")).status).toBe(401);
  const store = open(join(server.dir, "store"));
  const world = withKernel(localWorld({ store, limits: limitsFor(3_000), telemetry: { record: () => undefined } }));
  const { secret } = await createToken(world, {
    ...{ tenant: "local", by: "ann", scopes: ["runs:read"], name: null, lifeMs: null },
  });
  expect((await ask(server, "/runs", { headers: { authorization: `Bearer ${secret}` } })).status).toBe(200);
});

test.each(["cairn", "/cairn/", "/c?x", "//c"])("refuses the base %s before it opens a store", async (base) => {
  await expect(createServer({ auth: "tokens", base, store: "/nowhere" })).rejects.toMatchObject({
    code: "BaseInvalid",
  });
});

test("serves the console below the base without a login, unless it is left out", async () => {
  const server = await as(SCOPES);
  const page = await ask(server, "/cairn/");
  expect({ status: page.status, contentType: page.headers.get("content-type") }).toEqual({
    status: 200,
    contentType: "text/html; charset=utf-8",
  });
  const script = /src="\.\/(console\/[^"]+\.js)"/.exec(await page.text())?.[1] ?? "";
  expect((await ask(server, `/cairn/${script}`)).status).toBe(200);
  const without = await serverWith({ base: "/cairn", auth: async () => null, console: false });
  expect((await ask(without, "/cairn/")).status).toBe(401);
});

test("answers 503 and says that the store is closed after its program has closed it", async () => {
  const server = await as(SCOPES);
  await server.close();
  const answer = await ask(server, "/cairn/runs", { headers: ANN });
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBeNull();
  expect(await answer.json()).toMatchObject({
    code: "StoreClosed",
    detail: expect.stringContaining("whose store is open"),
  });
});
