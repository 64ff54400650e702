/** The server on this machine: which requests it refuses, the console, and events as a stream. */
import { describe, expect, test } from "vitest";
import { SCOPES } from "../../src/operations/operation.ts";
import { tokenAuthenticator } from "../../src/api/access/bearer.ts";
import { createToken } from "../../src/operations/access/tokens.ts";
import { createLocalServer } from "../../src/server/app.ts";
import { startRun } from "../../src/operations/start.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { type ScriptedAgentOptions, callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

const HOST = "127.0.0.1:7420";

function local(
  part: ScriptedAgentOptions = { reply: callsThenFinal(1) },
  options: { readonly isOpen?: boolean; readonly isBeyondMachine?: boolean } = {},
) {
  const harness = createHarness();
  const agent = scriptedAgent(part);
  const agentOf = async (name: string) => (name === agent.name ? agent : null);
  const agents = async () => ({ agents: [agent], broken: ["half.ts does not parse"] });
  const caller = { tenant: "local", actor: "ann@host", scopes: SCOPES };
  const login = async () => (options.isOpen === false ? tokenAuthenticator(harness.world) : null);
  const server = createLocalServer({
    world: harness.world,
    agentOf,
    agents,
    caller,
    login,
    firingsOf: () => [],
  });
  const ask = async (path: string, init: RequestInit & { readonly headers?: Record<string, string> } = {}) =>
    server.fetch(new Request(`http://${HOST}${path}`, { ...init, headers: { host: HOST, ...init.headers } }));
  const begin = async (): Promise<string> => {
    const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row.run;
  };
  const play = async (run: string): Promise<void> => {
    const { born, epoch } = harness.row(run);
    await drive(runnerOf(harness.world, agent), { run, born, chain: 1, epoch, agent: agent.name });
  };
  return { harness, server, ask, begin, play };
}

const json = { "content-type": "application/json" };
const start = (headers: Record<string, string> = {}) => ({
  method: "POST",
  body: '{"agent":"actor"}',
  headers: { ...json, ...headers },
});

describe("a request that a page of another site can make a browser send", () => {
  test.each([
    ["under another name that resolves here", { host: "evil.example" }, "HostRefused"],
    ["under a name that begins like a local one", { host: "localhost.evil.example:7420" }, "HostRefused"],
    ["from another origin", { origin: "https://evil.example" }, "OriginRefused"],
    ["from another port of this machine", { origin: "http://127.0.0.1:9999" }, "OriginRefused"],
    ["from an opaque origin", { origin: "null" }, "OriginRefused"],
    ["from another site", { "sec-fetch-site": "cross-site" }, "OriginRefused"],
    ["as a form", { "content-type": "application/x-www-form-urlencoded" }, "MediaTypeUnsupported"],
    ["as text", { "content-type": "text/plain" }, "MediaTypeUnsupported"],
  ])("is refused and starts nothing: %s", async (_, headers, code) => {
    const { harness, ask } = local();
    const answered = await ask("/runs", start(headers));
    expect(answered.status).toBeGreaterThanOrEqual(400);
    expect(await answered.json()).toMatchObject({ code });
    expect(harness.world.store.rows.size).toBe(0);
  });

  test("is no report to a callback link, which may be a form", async () => {
    const { ask } = local();
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const answered = await ask("/callbacks/unknown", { method: "POST", body: "status=done", headers: form });
    expect(await answered.json()).toMatchObject({ code: "CallbackUnknown" });
    const foreign = { ...form, origin: "https://evil.example" };
    const refused = await ask("/callbacks/unknown", { method: "POST", body: "status=done", headers: foreign });
    expect(await refused.json()).toMatchObject({ code: "OriginRefused" });
  });

  test("does not pause a run, although a pause has no body", async () => {
    const { harness, ask, begin } = local();
    const run = await begin();
    await ask(`/runs/${run}/pause`, { method: "POST", headers: { origin: "https://evil.example" } });
    await ask(`/runs/${run}/pause`, { method: "POST", body: "a=1", headers: { "content-type": "text/plain" } });
    expect(harness.row(run).pause).toBe(false);
  });
});

test("the server's own page and programs of this machine steer runs as the operator", async () => {
  const { ask, harness } = local();
  for (const host of [HOST, "localhost:7420", "[::1]:7420"]) {
    const answered = await ask("/runs", start({ host, origin: `http://${host}`, "sec-fetch-site": "same-origin" }));
    expect(answered.status).toBe(202);
  }
  expect((await ask("/runs", start())).status).toBe(202);
  const [run = ""] = harness.world.store.rows.keys();
  expect(await (await ask(`/runs/${run}`)).json()).toMatchObject({ startedBy: "ann@host" });
});

test("a server that requires a login answers under any name, and its own page behind a proxy", async () => {
  const { ask, harness } = local(undefined, { isOpen: false });
  const host = "agents.acme.example";
  const made = { tenant: "local", by: "ann", scopes: ["runs:write"] as const, name: null, lifeMs: null };
  const { secret } = await createToken(harness.world, made);
  const authorization = `Bearer ${secret}`;
  const statusOf = async (headers: Record<string, string>): Promise<number> =>
    (await ask("/runs", start(headers))).status;
  expect(await statusOf({ host })).toBe(401);
  expect(await statusOf({ host, authorization, origin: `https://${host}`, "sec-fetch-site": "same-origin" })).toBe(202);
  const foreign = await ask("/runs", start({ host, authorization, origin: "https://evil.example" }));
  expect({ status: foreign.status, ...((await foreign.json()) as object) }).toMatchObject({
    status: 403,
    code: "OriginRefused",
    detail: expect.stringContaining("Host header"),
  });
});

test("the agents are listed with their tools, schemas and what is broken", async () => {
  const { ask } = local();
  expect(await (await ask("/agents")).json()).toMatchObject({
    agents: [{ name: "actor", topology: "react", task: { type: "object" }, schedule: null }],
    broken: ["half.ts does not parse"],
  });
});

describe("the reference page", () => {
  test("tells of every operation and every schema of the document, and loads nothing", async () => {
    const { ask } = local();
    const answered = await ask("/reference");
    const page = await answered.text();
    const { paths, components } = (await (await ask("/openapi.json")).json()) as {
      readonly paths: Record<string, Record<string, { readonly operationId: string }>>;
      readonly components: { readonly schemas: object };
    };
    for (const { operationId } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      expect(page).toContain(`<h2 id="${operationId}">`);
      expect(page).toContain(`href="#${operationId}"`);
    }
    for (const name of Object.keys(components.schemas)) expect(page).toContain(`id="schema-${name}"`);
    expect(page).not.toMatch(/<script|<link|<img|@import|url\(|(src|href)="(https?:)?\/\//);
    const policy = answered.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'/);
    expect(Buffer.byteLength(page)).toBeLessThan(300_000);
  });
});

describe("the console", () => {
  test("is served to a link of another site, without data and with a strict policy", async () => {
    const { ask, begin } = local();
    const run = await begin();
    const answered = await ask("/", { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } });
    const page = await answered.text();
    expect(page).not.toContain(run);
    const policy = answered.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'"],
      ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
      ...["require-trusted-types-for 'script'", "trusted-types 'none'"],
    ]);
    expect(page).not.toMatch(/<script>|<style|style=|\son\w+=|(src|href)="(https?:)?\/\//);
  });

  test("has every file that its page names, below the path of the page, and no other", async () => {
    const { ask } = local();
    const page = await (await ask("/")).text();
    const files = [...page.matchAll(/(?:src|href)="(\.\/console\/[^"]+)"/g)].map(([, file = ""]) => file.slice(1));
    expect(new Set(files.map((file) => file.split(".").at(-1)))).toEqual(new Set(["svg", "js", "css"]));
    for (const file of files) {
      const answered = await ask(file);
      expect(answered.status).toBe(200);
      expect(answered.headers.get("x-content-type-options")).toBe("nosniff");
      expect(answered.headers.get("content-type")).toMatch(/^(text\/(css|javascript); charset=utf-8|image\/svg\+xml)$/);
    }
    for (const other of [
      "/console/nothing.js",
      "/console/..%2Findex.html",
      "/console/%2e%2e%2f%2e%2e%2fpackage.json",
    ]) {
      expect((await ask(other)).status).toBe(404);
    }
  });
});

describe("events as a stream", () => {
  const asStream = (id?: string) => ({
    headers: { accept: "text/event-stream", ...(id !== undefined && { "last-event-id": id }) },
  });
  const idsIn = (text: string): readonly string[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id = ""]) => id);

  test("sends every commit once and ends with the run", async () => {
    const { ask, begin, play, server } = local();
    const run = await begin();
    await play(run);
    const answered = await ask(`/runs/${run}/events`, asStream());
    expect(answered.headers.get("content-type")).toBe("text/event-stream");
    const text = await answered.text();
    expect(text).toContain('event: end\ndata: {"status":"completed"}');
    const ids = idsIn(text).slice(0, -1);
    expect(ids).toEqual([...new Set(ids)]);
    expect(server.streams.size).toBe(0);
  });

  test("continues after the last event that the reader has", async () => {
    const { ask, begin, play } = local();
    const run = await begin();
    await play(run);
    const all = idsIn(await (await ask(`/runs/${run}/events`, asStream())).text());
    const [, second = ""] = all;
    const rest = idsIn(await (await ask(`/runs/${run}/events`, asStream(second))).text());
    expect(rest).toEqual(all.slice(2));
  });

  test("waits for the next commit, and frees its place when the reader is gone", async () => {
    const { harness, ask, begin, play, server } = local();
    const run = await begin();
    const reader = (await ask(`/runs/${run}/events`, asStream())).body?.getReader();
    if (reader === undefined) throw new Error("it has no body");
    const read = async () => new TextDecoder().decode((await harness.advanceUntilSettled(reader.read())).value);
    expect(await read()).toBe("retry: 1000\n\n");
    await read();
    await play(run);
    expect(await read()).toMatch(/^id: \d+\ndata: \[\{/);
    expect(server.streams.size).toBe(0);
    const other = (await ask(`/runs/${await begin()}/events`, asStream())).body;
    expect(server.streams.size).toBe(1);
    await other?.cancel();
    expect(server.streams.size).toBe(0);
  });

  test("says what the model is saying, and goes on behind the last delta that the reader has", async () => {
    const { harness, ask, begin } = local();
    const run = await begin();
    const { table, deltas } = harness.world;
    const { born } = harness.row(run);
    const now = harness.clock.now();
    const entry = { execution: "x", epoch: 0, retry: 0 };
    const limits = { leaseUntil: now + 60_000, level: 99, now };
    const claimed = await table.decide({ run, born, chain: 1, entry, owner: "a worker", ...limits }, CLAIM);
    expect(claimed.kind).toBe("granted");
    const said = async (seq: number, text: string): Promise<void> =>
      deltas.append({ run, born }, { epoch: 1, version: 0, seq, at: now, parts: [{ kind: "text", index: 0, text }] });
    await said(1, "Hello, ");
    await said(2, "world ");
    const read = async (headers = {}): Promise<string> => {
      const path = `/runs/${run}/events?deltas=true`;
      const { body } = await ask(path, { headers: { accept: "text/event-stream", ...headers } });
      const reader = body?.getReader();
      if (reader === undefined) throw new Error("it has no body");
      await reader.read();
      const text = new TextDecoder().decode((await harness.advanceUntilSettled(reader.read())).value);
      await reader.cancel();
      return text;
    };
    const [first = "", second = ""] = (await read()).split(/(?<=\n\n)/);
    expect(first).toMatch(/^id: 0\.1\.1\nevent: delta\ndata: \{.*"text":"Hello, "/);
    expect(await read({ "last-event-id": "0.1.1" })).toBe(second);
    // The worker dies, and another one claims the run.
    const next = { entry: { ...entry, retry: 1 }, owner: "another", ...limits, now: now + 61_000 };
    expect(await table.decide({ run, born, chain: 1, ...next }, CLAIM)).toMatchObject({ kind: "granted" });
    expect(await read({ "last-event-id": "0.1.2" })).toBe(
      'event: reset\ndata: {"epoch":1,"version":0,"why":"takeover"}\n\n',
    );
    expect(await deltas.attachedUntil({ run, now: harness.clock.now() })).not.toBeNull();
  });

  test("leaves out the first events of the run until the reader reconnects", async () => {
    const { ask, begin, play } = local();
    const run = await begin();
    await play(run);
    const kindsOf = async (path: string, headers = {}) => {
      const text = await (await ask(path, { headers: { accept: "text/event-stream", ...headers } })).text();
      const commits = [...text.matchAll(/^id: \d+\ndata: (\[.*\])$/gm)].map(([, data = ""]) => JSON.parse(data));
      return commits.flat().map(({ kind }: { readonly kind: string }) => kind);
    };
    const all = await kindsOf(`/runs/${run}/events`);
    expect(all.length).toBeGreaterThan(4);
    expect(await kindsOf(`/runs/${run}/events?startIndex=3`)).toEqual(all.slice(3));
    const page = (await (await ask(`/runs/${run}/events?startIndex=3`)).json()) as { entries: { kind: string }[] };
    expect(page.entries.map(({ kind }) => kind)).toEqual(all.slice(3));
    const again = await kindsOf(`/runs/${run}/events?startIndex=9000`, { "last-event-id": "1" });
    expect(again).toEqual(await kindsOf(`/runs/${run}/events?after=1`));
  });

  test("is refused for an unknown run, and takes no place", async () => {
    const { ask, server } = local();
    expect((await ask(`/runs/local-${"a".repeat(26)}/events`, asStream())).status).toBe(404);
    expect(server.streams.size).toBe(0);
  });

  test("is refused beyond the readers of a run, of a caller and of the server, each with a code and a time", async () => {
    const { ask, begin, server } = local();
    const refusalOf = async (path: string): Promise<unknown> => {
      const refused = await ask(path, asStream());
      return [refused.status, refused.headers.get("retry-after"), ((await refused.json()) as { code: string }).code];
    };
    const run = await begin();
    const { max, perRunMax, perTokenMax } = server.streams.readers;
    // They arrive together: none is admitted before another one has its first page.
    const many = await Promise.all(Array.from({ length: 2 * perRunMax }, () => ask(`/runs/${run}/events`, asStream())));
    expect(many.filter(({ status }) => status === 200)).toHaveLength(perRunMax);
    expect(await refusalOf(`/runs/${run}/events`)).toEqual([429, "5", "TooManyReaders"]);
    expect(await refusalOf(`/runs/${run}/stream`)).toEqual([429, "5", "TooManyReaders"]);
    // A request that is no stream is answered.
    expect((await ask(`/runs/${run}/events`)).status).toBe(200);
    while (server.streams.size < perTokenMax) {
      const other = await begin();
      for (let count = 0; count < perRunMax && server.streams.size < perTokenMax; count += 1)
        await ask(`/runs/${other}/events`, asStream());
    }
    const mine = `/runs/${await begin()}/events`;
    expect(await refusalOf(mine)).toEqual([429, "5", "TooManyReaders"]);
    for (let count = server.streams.size; count < max; count += 1)
      server.streams.admit({ run: null, caller: { tenant: "local", actor: `other ${count}` } });
    expect(await refusalOf(mine)).toEqual([503, "5", "TooManyStreams"]);
    // A call of MCP may last as long as a stream, so it takes a place too.
    expect((await ask("/mcp", { method: "POST", body: "{}", headers: json })).status).toBe(503);
  });
});

test("a server that requires a token refuses a stream and a request without one, and serves the page that asks for it", async () => {
  const { ask, begin, harness, server } = local(undefined, { isOpen: false });
  const run = await begin();
  expect((await ask("/")).status).toBe(200);
  const paths = ["/reference", "/runs", `/runs/${run}/events`];
  const accept = { accept: "text/event-stream" };
  for (const path of paths) expect((await ask(path, { headers: accept })).status).toBe(401);
  expect((await ask("/healthz")).status).toBe(200);
  const made = { tenant: "local", by: "ann", scopes: ["runs:read"] as const, name: null, lifeMs: null };
  const { secret } = await createToken(harness.world, made);
  const authorization = `Bearer ${secret}`;
  for (const path of paths) expect((await ask(path, { headers: { ...accept, authorization } })).status).toBe(200);
  expect((await ask("/runs", start({ authorization }))).status).toBe(403);
  const eve = await createToken(harness.world, { ...made, tenant: "other" });
  const theirs = { ...accept, authorization: `Bearer ${eve.secret}` };
  expect((await ask(`/runs/${run}/events`, { headers: theirs })).status).toBe(404);
  expect(await (await ask("/", { headers: theirs })).text()).not.toContain(run);
  server.streams.closeAll();
});
