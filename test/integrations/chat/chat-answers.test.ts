/** Every answer that the document promises of the chat protocols is really given, as it is promised; and no other is. */
import { describe, expect, it } from "vitest";
import { CHAT_ROUTES } from "../../../src/api/chat/routes.ts";
import { unauthenticated } from "../../../src/api/problem.ts";
import { problemDocument } from "../../../src/api/schemas.ts";
import { SIZES } from "../../../src/codec/limits.ts";
import { sendRequest } from "../../../src/engine/loop/request.ts";
import { SCOPES, type Scope } from "../../../src/operations/operation.ts";
import { StoreUnreachable, type World } from "../../../src/ports/world.ts";
import { createLocalServer } from "../../../src/server/app.ts";
import { chatAgent } from "../../support/agents/chat-agent.ts";
import { createChainHarness } from "../../support/harness/harness.ts";

const HOST = "127.0.0.1:7420";
const ABSENT = `local-${"a".repeat(26)}`;
const LARGE = `"${"x".repeat(SIZES.httpBodyBytesMax)}"`;

interface Opening {
  readonly change?: (world: World) => World;
  /** Null: the caller is not known. */
  readonly scopes?: readonly Scope[] | null;
  readonly requestsPerMinute?: number;
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly type?: string;
}

/** A server, and the answers that it gave, as `GET /chat/{agent}/{chat} 200`. */
function opened({ change = (world) => world, scopes = SCOPES, requestsPerMinute }: Opening = {}) {
  const harness = createChainHarness();
  const agent = chatAgent();
  const server = createLocalServer({
    world: change({ ...harness.world, telemetry: { record: () => undefined } }),
    agentOf: async (name) => (name === agent.name ? agent : null),
    agents: async () => ({ agents: [agent], broken: [] }),
    caller: { tenant: "local", actor: "ann@host", scopes: SCOPES },
    login: async () => async () => {
      if (scopes === null) throw unauthenticated();
      return { tenant: "local", actor: "ann@host", scopes };
    },
    firingsOf: () => [],
    ...(requestsPerMinute !== undefined && { limits: { local: { requestsPerMinute } } }),
  });
  const seen = new Set<string>();
  const ask = async ({ method, path, body, type = "application/json" }: Asked): Promise<string> => {
    const headers = { host: HOST, ...(body !== undefined && { "content-type": type }) };
    const init = { method, headers, ...(body !== undefined && { body }) };
    const answered = await server.fetch(new Request(`http://${HOST}${path}`, init));
    await harness.runUntilIdle(agent);
    const name = await documented({ method, path }, answered);
    seen.add(name);
    return name;
  };
  return { harness, agent, server, ask, seen };
}

interface Documented {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, { readonly schema: { readonly parse: (value: unknown) => unknown } }>>;
}

const matches = (template: string, path: string): boolean =>
  new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path.split("?")[0] ?? "");

/** Fails unless the document has this answer, with its type, its headers and its schema. */
async function documented({ method, path }: Asked, answered: Response): Promise<string> {
  const route = CHAT_ROUTES.find((each) => each.method === method.toLowerCase() && matches(each.path, path));
  const name = `${method} ${route?.path} ${answered.status}`;
  const responses = (route?.responses ?? {}) as Readonly<Record<number, Documented>>;
  const { content = {}, headers = {} } = responses[answered.status] ?? {};
  const text = await answered.text();
  const type = answered.headers.get("content-type") ?? "";
  const schema = content[type]?.schema;
  expect(schema, `${name} is not documented as ${type}: ${text}`).toBeDefined();
  for (const header of Object.keys(headers)) {
    // A store that does not answer says when to come again; a fault of its keys does not know.
    if (header !== "Retry-After" || answered.status === 429) expect(answered.headers.get(header)).not.toBeNull();
  }
  expect(answered.headers.get("x-content-type-options")).toBe("nosniff");
  const isStream = type === "text/event-stream";
  expect(answered.headers.get("cache-control")).toBe(isStream ? "no-store, no-transform" : "no-store");
  expect(answered.headers.get("x-accel-buffering")).toBe(isStream ? "no" : null);
  const isJson = type.endsWith("json");
  if (isJson) expect(schema?.parse(JSON.parse(text))).toEqual(JSON.parse(text));
  if (isStream) {
    const events = [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => ({ data }));
    expect(events.length).toBeGreaterThan(1);
    for (const event of events) expect(schema?.parse(event)).toEqual(event);
    for (const { data } of events) expect(JSON.parse(data)).toMatchObject({ type: expect.any(String) });
  }
  if (answered.status >= 400) expect(problemDocument.strict().parse(JSON.parse(text))).toEqual(JSON.parse(text));
  return name;
}

const said = (id: string, text: string) => ({ id, role: "user", parts: [{ type: "text", text }] });
const saidTo = (id: string, content: unknown) => ({ id, role: "user", content });
const turn = (chat: string, ...messages: readonly object[]): Asked => ({
  ...{ method: "POST", path: `/chat/talker/${chat}`, body: JSON.stringify({ messages }) },
});
const agUi = (threadId: string, ...messages: readonly object[]): Asked => ({
  ...{ method: "POST", path: "/ag-ui/talker", body: JSON.stringify({ threadId, runId: "r", messages }) },
});
const stop = (chat: string): Asked => ({ method: "POST", path: `/chat/talker/${chat}/stop`, body: "{}" });
const get = (path: string): Asked => ({ method: "GET", path });

/** A request of each route that fits its schema, for a run of the chat `c1`. */
const fitting = (run: string): readonly Asked[] => [
  get(`/runs/${run}/stream`),
  get("/chat/talker/c1"),
  turn("c1", said("u1", "hello")),
  get(`/chat/talker/c1/${run}/stream`),
  agUi("c2", saidTo("u1", "hello")),
  stop("c1"),
];

/** The requests of a server whose only run is that of the chat `c1`. */
async function begun() {
  const server = opened();
  await server.ask(turn("c1", said("u1", "hello")));
  await server.ask(agUi("c2", saidTo("u1", "hello")));
  const page = await server.harness.world.table.list({
    ...{ tenant: "local", status: null, limit: 10, after: null, now: server.harness.clock.now() },
  });
  const runs = page.rows.map(({ run }) => run);
  return { ...server, runs, run: runs[0] ?? "" };
}

const away = (world: World): World => ({
  ...world,
  table: { ...world.table, read: () => Promise.reject(new StoreUnreachable("SECRET")) },
});
const mistaken = (world: World): World => ({
  ...world,
  table: { ...world.table, read: () => Promise.reject(new TypeError("SECRET")) },
});

const statusIn = (name: string): number => Number(name.split(" ").at(-1));

describe("a chat route", () => {
  it("answers 503 and does nothing when too many streams are open", async () => {
    const { server, ask, run, harness } = await begun();
    const before = structuredClone(harness.world.store.rows);
    const { max } = server.streams.readers;
    for (let open = 0; open < max; open += 1)
      server.streams.admit({ run: null, caller: { tenant: "other", actor: `reader ${open}` } });
    const requests = [
      ...[get(`/runs/${run}/stream`), get("/chat/talker/c1/c1/stream")],
      ...[turn("c3", said("u1", "hello")), agUi("c4", saidTo("u1", "hello"))],
    ];
    for (const request of requests) expect(statusIn(await ask(request))).toBe(503);
    expect(harness.world.store.rows).toEqual(before);
  });

  it.each([
    ["PUT", "/chat/talker/c1", "GET, HEAD, POST"],
    ["DELETE", `/runs/${ABSENT}/stream`, "GET, HEAD"],
    ["POST", "/chat/talker/c1/c1/stream", "GET, HEAD"],
    ["GET", "/ag-ui/talker", "POST"],
  ])("refuses another method and names its own: %s %s", async (method, path, allow) => {
    const { server } = opened();
    const answered = await server.fetch(new Request(`http://${HOST}${path}`, { method, headers: { host: HOST } }));
    expect({ status: answered.status, allow: answered.headers.get("allow") }).toEqual({ status: 405, allow });
    expect(await answered.json()).toMatchObject({ code: "MethodNotAllowed" });
    const strangers = opened({ scopes: null }).server;
    const refused = await strangers.fetch(new Request(`http://${HOST}${path}`, { method, headers: { host: HOST } }));
    expect(refused.status).toBe(401);
  });
});

/** What is wrong with a body, by the status that it gets; for a path that takes one. */
const wrong = (path: string, ofPart: Asked): Readonly<Record<number, readonly Asked[]>> => ({
  400: [{ method: "POST", path, body: "{" }],
  413: [{ method: "POST", path, body: LARGE }],
  415: [{ method: "POST", path, body: "{}", type: "application/x-www-form-urlencoded" }, ofPart],
  422: [{ method: "POST", path, body: "{}" }],
});

describe("every documented answer of the chat protocols", () => {
  it("is given by some request", async () => {
    const { ask, seen, run, runs, harness, agent } = await begun();
    const late = [said("u1", "hello"), said("u2", "more")];
    const lateTo = [saidTo("u1", "hello"), saidTo("u2", "more")];
    for (const request of fitting(run)) expect([200, 202]).toContain(statusIn(await ask(request)));
    for (const each of runs) await sendRequest(harness.world, { run: each, want: "cancel" });
    await harness.runUntilIdle(agent);
    const refused: readonly (readonly [Asked, number])[] = [
      [get(`/runs/${ABSENT}/stream`), 404],
      [get("/chat/talker/a%20b"), 404],
      [get("/chat/talker/c3/c3/stream"), 404],
      [{ ...turn("c1", said("u1", "hello")), path: "/chat/nobody/c1" }, 404],
      [{ ...agUi("c1", saidTo("u1", "hello")), path: "/ag-ui/nobody" }, 404],
      [stop("c9"), 404],
      [stop("c1"), 409],
      [turn("c1", ...late), 409],
      [agUi("c2", ...lateTo), 409],
    ];
    for (const [request, status] of refused) expect(statusIn(await ask(request)), request.path).toBe(status);
    const wrongStops = wrong("/chat/talker/c1/stop", { ...stop("c1"), type: "text/plain" });
    const bodies = [
      { ...wrongStops, 422: [{ ...stop("c1"), body: '{"at":9007199254740993}' }] },
      wrong("/chat/talker/c3", turn("c3", { id: "a", role: "user", parts: [{ type: "file", url: "data:," }] })),
      wrong("/ag-ui/talker", agUi("c3", saidTo("u", [{ type: "image" }]))),
    ];
    for (const [status, requests] of bodies.flatMap((each) => Object.entries(each))) {
      for (const request of requests) expect(statusIn(await ask(request))).toBe(Number(status));
    }
    const openings: readonly (readonly [Opening, number])[] = [
      ...([
        [{ scopes: null }, 401],
        [{ scopes: [] }, 403],
      ] as const),
      ...([
        [{ change: mistaken }, 500],
        [{ change: away }, 503],
      ] as const),
    ];
    for (const [opening, status] of openings) {
      const other = opened(opening);
      for (const request of fitting(ABSENT)) expect(statusIn(await other.ask(request)), request.path).toBe(status);
      for (const name of other.seen) seen.add(name);
    }
    const limited = opened({ requestsPerMinute: 1 });
    await limited.ask(get("/chat/talker/c1"));
    for (const request of fitting(ABSENT)) expect(statusIn(await limited.ask(request))).toBe(429);
    for (const name of limited.seen) seen.add(name);
    const promised = CHAT_ROUTES.flatMap(({ method, path, responses }) =>
      Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    );
    expect([...seen].toSorted()).toEqual(promised.toSorted());
  });
});
