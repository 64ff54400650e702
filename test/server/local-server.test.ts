/** The server on this machine: which requests it refuses, its status page, and events as a stream. */
import { describe, expect, test } from "vitest";
import { createLocalServer } from "../../src/server/app.ts";
import { startRun } from "../../src/operations/start.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import {
  type ScriptedAgentOptions,
  advanceUntilSettled,
  callsThenFinal,
  createHarness,
  rowOf,
  scriptedAgent,
} from "../support/harness/harness.ts";

const HOST = "127.0.0.1:7420";

function local(place = "/store", part: ScriptedAgentOptions = { reply: callsThenFinal(1) }) {
  const harness = createHarness();
  const agent = scriptedAgent(part);
  const agentOf = async (name: string) => (name === agent.name ? agent : null);
  const agents = async () => ({ agents: [agent], broken: ["half.ts does not parse"] });
  const caller = { tenant: "local", actor: "ann@host" };
  const server = createLocalServer({ world: harness.world, agentOf, agents, caller, place });
  const ask = async (path: string, init: RequestInit & { readonly headers?: Record<string, string> } = {}) =>
    server.fetch(new Request(`http://${HOST}${path}`, { ...init, headers: { host: HOST, ...init.headers } }));
  const begin = async (): Promise<string> => {
    const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row.run;
  };
  const play = async (run: string): Promise<void> => {
    const { born, epoch } = rowOf(harness, run);
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

  test("does not pause a run, although a pause has no body", async () => {
    const { harness, ask, begin } = local();
    const run = await begin();
    await ask(`/runs/${run}/pause`, { method: "POST", headers: { origin: "https://evil.example" } });
    await ask(`/runs/${run}/pause`, { method: "POST", body: "a=1", headers: { "content-type": "text/plain" } });
    expect(rowOf(harness, run).pause).toBe(false);
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

test("the agents are listed with their tools, schemas and what is broken", async () => {
  const { ask } = local();
  expect(await (await ask("/agents")).json()).toMatchObject({
    agents: [{ name: "actor", topology: "react", task: { type: "object" }, schedule: null }],
    broken: ["half.ts does not parse"],
  });
});

describe("the status page", () => {
  test("lists runs with links to their documents and allows no script", async () => {
    const { ask, begin } = local(`/a"><script>alert(1)</script>`);
    const run = await begin();
    const answered = await ask("/", { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" } });
    const page = await answered.text();
    expect(page).toContain(`<a href="/runs/${run}">`);
    expect(page).toContain("queued");
    expect(page).not.toContain("<script");
    expect(page).toContain("&lt;script&gt;");
    expect(answered.headers.get("content-security-policy")).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(page).not.toContain("Waiting for you");
  });

  test("shows what waits for a decision, as text, with the commands to type", async () => {
    const { ask, begin, play, harness } = local("/store", {
      approval: () => "<b>large</b>",
      reply: ({ calls }) => (calls.length === 0 ? { calls: [{ tool: "act", args: {} }] } : { text: "over" }),
    });
    const run = await begin();
    await play(run);
    harness.clock.moveTo(harness.clock.now() + 40 * 60_000);
    const page = await (await ask("/")).text();
    expect(page).toContain("Waiting for you");
    expect(page).toContain("actor: &lt;b&gt;large&lt;/b&gt;");
    expect(page).toContain(`npx cairn approve ${run} c1`);
    expect(page).toContain("AwaitingApproval for 40 min");
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
    const read = async () => new TextDecoder().decode((await advanceUntilSettled(harness, reader.read())).value);
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

  test("is refused for an unknown run, and beyond the number of readers", async () => {
    const { ask, begin } = local();
    expect((await ask(`/runs/local-${"a".repeat(26)}/events`, asStream())).status).toBe(404);
    const run = await begin();
    for (let count = 0; count < 256; count += 1) await ask(`/runs/${run}/events`, asStream());
    const refused = await ask(`/runs/${run}/events`, asStream());
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ code: "TooManyStreams" });
  });
});
