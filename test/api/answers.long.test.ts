/** Every answer that the document promises is really given, as it is promised; and no other is. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { ALL_ROUTES, PLAIN_ROUTES, performing, requestFor } from "../support/harness/plain-routes.ts";
import {
  type ApiRequest,
  type ApiHarness,
  type RequestContext,
  createApiHarness,
} from "../support/harness/api-harness.ts";
import { largeRun, withLinks } from "../support/harness/large-run.ts";
import { ROWS } from "../../src/operations/table.ts";
import { openCallback } from "../../src/features/waits/callbacks.ts";
import type { Row } from "../../src/protocol/row.ts";
import { callsOnce, waitingAgent } from "../support/agents/waiting-agent.ts";
import { beginRun, drive, runnerOf } from "../support/harness/drive.ts";
import { routesOf } from "../../src/api/routes.ts";

/** Every response that the document allows. */
const DOCUMENTED_RESPONSES: readonly string[] = routesOf(ROWS).flatMap(({ method, path, responses }) =>
  Object.keys(responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
);

const SECRET = "SECRET arn:aws:iam::123456789012:user/root AKIAIOSFODNN7EXAMPLE";
const ANONYMOUS: RequestContext = { caller: null };
const UNSCOPED: RequestContext = { caller: { tenant: "local", actor: "eve", scopes: [] } };
const ABSENT = `local-${"a".repeat(26)}`;
const LARGE = `"${"x".repeat(SIZES.httpBodyBytesMax)}"`;

type Request = readonly [request: ApiRequest, from?: RequestContext];

/** A file whose bytes are a text. */
const NOTE = { name: "note.txt", base64: "bm90ZQ==" };

const json = { "content-type": "application/json" };

/** A body that is wrong in each way, for a path that takes one. */
const wrongBodies = (path: string): Readonly<Record<number, Request>> => ({
  400: [{ path, body: '{"agent": ', headers: json }],
  401: [{ path, json: {} }, ANONYMOUS],
  403: [{ path, json: {} }, UNSCOPED],
  413: [{ path, body: LARGE, headers: json }],
  415: [{ path, body: "agent=actor", headers: { "content-type": "application/x-www-form-urlencoded" } }],
  422: [{ path, json: {} }],
});

interface Walk {
  readonly harness: ApiHarness;
  readonly run: string;
  readonly ended: string;
  readonly token: string;
  /** The path of a callback to a run that waits, and of one to a run that has ended. */
  readonly callback: string;
  readonly closed: string;
}

/** One request for each answer, by operation and status. */
const requestsOf = ({
  run,
  ended,
  token,
  callback,
  closed,
}: Walk): Readonly<Record<string, Readonly<Record<number, Request>>>> => ({
  "POST /runs": {
    202: [{ path: "/runs", json: { agent: "actor" }, headers: { "Idempotency-Key": "k" } }],
    200: [{ path: "/runs", json: { agent: "actor", input: {} }, headers: { "Idempotency-Key": "k" } }],
    409: [{ path: "/runs", json: { agent: "omnivore", input: 2 }, headers: { "Idempotency-Key": "kept" } }],
    404: [{ path: "/runs", json: { agent: "nobody" } }],
    500: [{ path: "/runs", json: { agent: "broken" } }],
    ...wrongBodies("/runs"),
  },
  "GET /runs/{run}": {
    200: [{ path: `/runs/${run}` }],
    304: [{ path: `/runs/${run}`, headers: { "If-None-Match": "*" } }],
    401: [{ path: `/runs/${run}` }, ANONYMOUS],
    403: [{ path: `/runs/${run}` }, UNSCOPED],
    404: [{ path: `/runs/${ABSENT}` }],
  },
  "GET /runs/{run}/files/{file}": {
    200: [{ path: `/runs/${run}/files/note.txt` }],
    401: [{ path: `/runs/${run}/files/note.txt` }, ANONYMOUS],
    403: [{ path: `/runs/${run}/files/note.txt` }, UNSCOPED],
    404: [{ path: `/runs/${run}/files/absent` }],
  },
  "POST /runs/{run}/messages": {
    202: [{ path: `/runs/${run}/messages`, json: { text: "a", id: "w1" } }],
    200: [{ path: `/runs/${run}/messages`, json: { text: "a", id: "w1" } }],
    404: [{ path: `/runs/${ABSENT}/messages`, json: { text: "a" } }],
    409: [{ path: `/runs/${ended}/messages`, json: { text: "a" } }],
    412: [{ path: `/runs/${run}/messages`, json: { text: "a" }, headers: { "If-Match": token } }],
    ...wrongBodies(`/runs/${run}/messages`),
  },
  "GET /runs/{run}/export": {
    200: [{ path: `/runs/${run}/export` }],
    401: [{ path: `/runs/${run}/export` }, ANONYMOUS],
    403: [{ path: `/runs/${run}/export` }, UNSCOPED],
    404: [{ path: `/runs/${ABSENT}/export` }],
    422: [{ path: `/runs/${run}/export?redirect=never` }],
  },
  "GET /caller": { 200: [{ path: "/caller" }], 401: [{ path: "/caller" }, ANONYMOUS] },
  "GET /openapi.json": { 200: [{ path: "/openapi.json" }], 401: [{ path: "/openapi.json" }, ANONYMOUS] },
  "GET /healthz": { 200: [{ path: "/healthz" }, ANONYMOUS] },
  "POST /callbacks/{token}": {
    202: [{ path: callback, json: { euros: 5 } }, ANONYMOUS],
    200: [{ path: callback, json: { euros: 5 } }, ANONYMOUS],
    404: [{ path: "/callbacks/cairn_0123456789abcdef_0", json: {} }, ANONYMOUS],
    ...{ 400: wrongBodies(callback)[400], 413: wrongBodies(callback)[413] },
    415: [{ path: callback, body: "--x--", headers: { "content-type": "multipart/form-data; boundary=x" } }, ANONYMOUS],
    422: [{ path: callback, body: '{"euros":9007199254740993}', headers: json }, ANONYMOUS],
    409: [{ path: closed, json: { euros: 6 } }, ANONYMOUS],
  } as Readonly<Record<number, Request>>,
});

async function walked(): Promise<Walk> {
  const harness = createApiHarness();
  const begin = async (key: string): Promise<string> => {
    const { body } = await harness.ask({
      path: "/runs",
      json: { agent: "actor", files: [NOTE] },
      headers: { "Idempotency-Key": key },
    });
    return String(body["run"]);
  };
  const [run, ended] = [await begin("kept"), await begin("ended")];
  const { born } = harness.row(ended);
  await drive(runnerOf(harness.world, harness.agent), {
    run: ended,
    born,
    chain: 1,
    epoch: 0,
    agent: harness.agent.name,
  });
  const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
  const headers = { "Idempotency-Key": "kept" };
  await harness.ask({ path: "/runs", json: { agent: "omnivore", input: 1 }, headers });
  const waiter = waitingAgent({ reply: callsOnce("paid") });
  const waiting = await beginRun(harness.world, waiter, {});
  await drive(runnerOf(harness.world, waiter), waiting);
  const of = { tenant: "local", event: "paid", lifeMs: 3_600_000 };
  const callback = await openCallback(harness.world, { ...waiting, ...of });
  const closed = await openCallback(harness.world, { ...of, run: ended, born });
  return { harness, run, ended, token: String(body["resumeToken"]), callback, closed };
}

/** The store says no, in words that are nobody's business. */
const away = (world: World): World => {
  const refuse = () => Promise.reject(new StoreUnreachable(SECRET));
  return { ...world, table: { ...world.table, read: refuse, create: refuse } };
};

const mistaken = (world: World): World => ({
  ...world,
  table: { ...world.table, read: () => Promise.reject(new TypeError(SECRET)) },
});

/** What the routes that the table describes answer: to wrong requests, and for each outcome of their operations. */
async function plainAnswers({ harness, run, token }: Walk): Promise<ReadonlySet<string>> {
  for (const each of PLAIN_ROUTES) {
    const { hasRun, hasBody, hasQuery, isSteering, path } = each;
    const known = requestFor(each, run);
    await harness.ask(known, ANONYMOUS);
    await harness.ask(known, UNSCOPED);
    if (hasRun) await harness.ask(requestFor(each, ABSENT));
    if (hasQuery) await harness.ask({ ...known, path: `${known.path}?surprise=1` });
    if (isSteering) await harness.ask({ ...known, headers: { "If-Match": token } });
    if (!hasBody) continue;
    for (const [status, [request]] of Object.entries(wrongBodies(path(run)))) {
      if (!["401", "403", "422"].includes(status)) await harness.ask(request);
    }
    await harness.ask({ path: path(run), json: { surprise: 1 } });
  }
  const seen = new Set(harness.seen);
  for (const each of PLAIN_ROUTES) {
    for (const error of [new StoreUnreachable(SECRET), new TypeError(SECRET)]) {
      const failing = createApiHarness(
        {},
        undefined,
        performing(each, () => Promise.reject(error)),
      );
      const { body } = await failing.ask({ path: "/runs", json: { agent: "actor" } });
      expect((await failing.ask(requestFor(each, String(body["run"])))).text).not.toContain("SECRET");
      for (const name of failing.seen) seen.add(name);
    }
    for (const [kind, { status, code }] of Object.entries(each.operation.outcomes)) {
      const stubbed = createApiHarness(
        {},
        undefined,
        performing(each, async () => ({ kind })),
      );
      const { body } = await stubbed.ask({ path: "/runs", json: { agent: "actor" } });
      const answered = await stubbed.ask(requestFor(each, String(body["run"])));
      expect({ name: each.name, kind, status: answered.status, code: answered.body["code"] ?? null }).toEqual({
        name: each.name,
        kind,
        status,
        code,
      });
      expect(answered.body["kind"] ?? answered.body["outcome"]).toEqual(code === null ? kind : { kind });
      for (const name of stubbed.seen) seen.add(name);
    }
  }
  return seen;
}

describe("every documented answer", () => {
  test("is given by some request", async () => {
    const walk = await walked();
    const seen = new Set<string>();
    for (const [operation, requests] of Object.entries(requestsOf(walk))) {
      // 202 before 200: the second of two that are alike.
      const order = Object.entries(requests).toSorted(
        ([one], [other]) => Number(one === "200") - Number(other === "200"),
      );
      for (const [status, [request, from]] of order) {
        const answered = await walk.harness.ask(request, from);
        expect(`${operation} ${answered.status}`, answered.text.slice(0, 300)).toBe(`${operation} ${status}`);
        seen.add(`${operation} ${answered.status}`);
      }
    }
    for (const harness of [createApiHarness({}, away), createApiHarness({}, mistaken)]) {
      const run = `local-${"b".repeat(26)}`;
      await harness.ask({ path: "/runs", json: { agent: "actor" } });
      await harness.ask({ path: `/runs/${run}` });
      await harness.ask({ path: `/runs/${run}/files/note.txt` });
      await harness.ask({ path: `/runs/${run}/messages`, json: { text: "a" } });
      await harness.ask({ path: `/runs/${run}/export` });
      const of = { run, born: "b", tenant: "local", event: "paid", lifeMs: 3_600_000 };
      await harness.ask({ path: await openCallback(harness.world, of), json: {} });
      for (const each of harness.seen) seen.add(each);
    }
    for (const exportBytesMax of [1_000_000, 1]) {
      const harness = createApiHarness({}, withLinks, ROWS, { exportBytesMax });
      await harness.ask({ path: `/runs/${await largeRun(harness)}/export` });
      for (const each of harness.seen) seen.add(each);
    }
    for (const each of await plainAnswers(walk)) seen.add(each);
    const limits = { local: { requestsPerMinute: 1 } };
    const limited = createApiHarness({}, undefined, ROWS, { limits });
    const begun = await limited.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(begun.body["run"]);
    const { born } = (await limited.world.table.read(run, limited.clock.now())) as Row;
    const link = await openCallback(limited.world, { run, born, tenant: "local", event: "paid", lifeMs: 3_600_000 });
    await limited.ask({ path: link, json: {} }, ANONYMOUS);
    for (const { request } of ALL_ROUTES) await limited.ask(request(walk.run));
    await limited.ask({ path: "/openapi.json" });
    await limited.ask({ path: "/caller" });
    for (const each of limited.seen) if (each.endsWith(" 429")) seen.add(each);
    const linking = createApiHarness({}, (world) => ({
      ...world,
      links: { linkTo: async () => "https://bucket.test/" },
    }));
    const { body } = await linking.ask({ path: "/runs", json: { agent: "actor", files: [NOTE] } });
    await linking.ask({ path: `/runs/${String(body["run"])}/files/note.txt` });
    for (const each of linking.seen) seen.add(each);
    expect([...seen].toSorted()).toEqual(DOCUMENTED_RESPONSES.toSorted());
  });
});

describe("an error inside the API", () => {
  test.each([
    ["the store is unavailable", away, 503, "StoreUnreachable"],
    ["cairn has an internal error", mistaken, 500, "Unexpected"],
  ] as const)("is reported to the operator alone: %s", async (_, change, status, code) => {
    const harness = createApiHarness({}, change);
    const answered = await harness.ask({ path: `/runs/${ABSENT}` });
    expect({ status: answered.status, code: answered.body["code"] }).toEqual({ status, code });
    expect(answered.headers.get("retry-after")).toBe(status === 503 ? "2" : null);
    expect(answered.text).not.toMatch(/SECRET|arn:|AKIA|node_modules|\.ts/);
    expect(harness.records).toMatchObject([{ level: "alarm", run: ABSENT, what: code }]);
    const why = String(harness.records[0]?.detail["why"]);
    expect(why).toContain(SECRET.replace(/AKIA\w+/, "[redacted aws-access-key]"));
    expect(why.startsWith(`${String(answered.body["instance"])}: `)).toBe(true);
  });

  test("names the operator as the one to act when an agent cannot be loaded", async () => {
    const harness = createApiHarness();
    const answered = await harness.ask({ path: "/runs", json: { agent: "broken" } });
    expect({ status: answered.status, code: answered.body["code"] }).toEqual({ status: 500, code: "AgentInvalid" });
    expect(answered.text).not.toContain("SECRET");
    expect(harness.records).toMatchObject([
      { what: "AgentInvalid", detail: { why: expect.stringContaining("broken.ts") } },
    ]);
  });

  test("reports a run whose snapshot is damaged as unreadable and leaves it unchanged", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(body["run"]);
    const before = harness.row(run);
    for (const key of harness.world.store.objects.keys()) harness.world.store.objects.set(key, Uint8Array.of(1, 2, 3));
    const answered = await harness.ask({ path: `/runs/${run}` });
    expect({ status: answered.status, code: answered.body["code"] }).toEqual({ status: 500, code: "Unreadable" });
    expect(answered.text).not.toContain("snapshots/");
    expect(harness.row(run)).toEqual(before);
    expect(harness.records).toMatchObject([{ run, what: "Unreadable" }]);
  });
});
