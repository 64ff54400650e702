/** Every answer that the document promises is really given, as it is promised; and no other is. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { PLAIN_ROUTES, performing, requestFor } from "../support/harness/plain-routes.ts";
import {
  type ApiRequest,
  DOCUMENTED_RESPONSES,
  type ApiHarness,
  type RequestContext,
  createApiHarness,
} from "../support/harness/api-harness.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { rowOf } from "../support/harness/harness.ts";

const SECRET = "SECRET arn:aws:iam::123456789012:user/root AKIAIOSFODNN7EXAMPLE";
const ANONYMOUS: RequestContext = { caller: null };
const ABSENT = `local-${"a".repeat(26)}`;
const LARGE = `"${"x".repeat(SIZES.httpBodyBytesMax)}"`;

type Request = readonly [request: ApiRequest, from?: RequestContext];

const json = { "content-type": "application/json" };

/** A body that is wrong in each way, for a path that takes one. */
const wrongBodies = (path: string): Readonly<Record<number, Request>> => ({
  400: [{ path, body: '{"agent": ', headers: json }],
  401: [{ path, json: {} }, ANONYMOUS],
  413: [{ path, body: LARGE, headers: json }],
  415: [{ path, body: "agent=actor", headers: { "content-type": "application/x-www-form-urlencoded" } }],
  422: [{ path, json: {} }],
});

interface Walk {
  readonly harness: ApiHarness;
  readonly run: string;
  readonly ended: string;
  readonly token: string;
}

/** One request for each answer, by operation and status. */
const requestsOf = ({ run, ended, token }: Walk): Readonly<Record<string, Readonly<Record<number, Request>>>> => ({
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
    404: [{ path: `/runs/${ABSENT}` }],
  },
  "POST /runs/{run}/messages": {
    202: [{ path: `/runs/${run}/messages`, json: { text: "a", id: "w1" } }],
    200: [{ path: `/runs/${run}/messages`, json: { text: "a", id: "w1" } }],
    404: [{ path: `/runs/${ABSENT}/messages`, json: { text: "a" } }],
    409: [{ path: `/runs/${ended}/messages`, json: { text: "a" } }],
    412: [{ path: `/runs/${run}/messages`, json: { text: "a" }, headers: { "If-Match": token } }],
    ...wrongBodies(`/runs/${run}/messages`),
  },
  "GET /openapi.json": { 200: [{ path: "/openapi.json" }], 401: [{ path: "/openapi.json" }, ANONYMOUS] },
  "GET /healthz": { 200: [{ path: "/healthz" }, ANONYMOUS] },
});

async function walked(): Promise<Walk> {
  const harness = createApiHarness();
  const begin = async (key: string): Promise<string> => {
    const { body } = await harness.ask({
      path: "/runs",
      json: { agent: "actor" },
      headers: { "Idempotency-Key": key },
    });
    return String(body["run"]);
  };
  const [run, ended] = [await begin("kept"), await begin("ended")];
  const { born } = rowOf(harness, ended);
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
  return { harness, run, ended, token: String(body["resumeToken"]) };
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
    if (hasRun) await harness.ask(requestFor(each, ABSENT));
    if (hasQuery) await harness.ask({ ...known, path: `${known.path}?surprise=1` });
    if (isSteering) await harness.ask({ ...known, headers: { "If-Match": token } });
    if (!hasBody) continue;
    for (const [status, [request]] of Object.entries(wrongBodies(path(run)))) {
      if (status !== "401" && status !== "422") await harness.ask(request);
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
      expect([each.name, kind, answered.status, answered.body["code"] ?? null]).toEqual([
        each.name,
        kind,
        status,
        code,
      ]);
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
      await harness.ask({ path: `/runs/${run}/messages`, json: { text: "a" } });
      for (const each of harness.seen) seen.add(each);
    }
    for (const each of await plainAnswers(walk)) seen.add(each);
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
    expect([answered.status, answered.body["code"]]).toEqual([status, code]);
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
    expect([answered.status, answered.body["code"]]).toEqual([500, "AgentInvalid"]);
    expect(answered.text).not.toContain("SECRET");
    expect(harness.records).toMatchObject([
      { what: "AgentInvalid", detail: { why: expect.stringContaining("broken.ts") } },
    ]);
  });

  test("reports a run whose snapshot is damaged as unreadable and leaves it unchanged", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(body["run"]);
    const before = rowOf(harness, run);
    for (const key of harness.world.store.objects.keys()) harness.world.store.objects.set(key, Uint8Array.of(1, 2, 3));
    const answered = await harness.ask({ path: `/runs/${run}` });
    expect([answered.status, answered.body["code"]]).toEqual([500, "Unreadable"]);
    expect(answered.text).not.toContain("snapshots/");
    expect(rowOf(harness, run)).toEqual(before);
    expect(harness.records).toMatchObject([{ run, what: "Unreadable" }]);
  });
});
