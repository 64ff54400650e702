/** Every answer that the document promises is really given, as it is promised; and no other is. */
import { describe, expect, test } from "vitest";
import { SIZES } from "../../src/codec/limits.ts";
import { StoreUnreachable, type World } from "../../src/ports/world.ts";
import { type Asking, DOCUMENTED, type Desk, type From, desk } from "../support/api.ts";
import { drive, runnerOf } from "../support/drive.ts";
import { rowOf } from "../support/stage.ts";

const SECRET = "SECRET arn:aws:iam::123456789012:user/root AKIAIOSFODNN7EXAMPLE";
const NOBODY: From = { caller: null };
const ABSENT = `local-${"a".repeat(26)}`;
const LARGE = `"${"x".repeat(SIZES.httpBodyBytesMax)}"`;

type Request = readonly [request: Asking, from?: From];

const json = { "content-type": "application/json" };

/** A body that is wrong in each way, for a path that takes one. */
const wrongBodies = (path: string): Readonly<Record<number, Request>> => ({
  400: [{ path, body: '{"agent": ', headers: json }],
  401: [{ path, json: {} }, NOBODY],
  413: [{ path, body: LARGE, headers: json }],
  415: [{ path, body: "agent=actor", headers: { "content-type": "application/x-www-form-urlencoded" } }],
  422: [{ path, json: {} }],
});

interface Walk {
  readonly on: Desk;
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
    401: [{ path: `/runs/${run}` }, NOBODY],
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
  "GET /openapi.json": { 200: [{ path: "/openapi.json" }], 401: [{ path: "/openapi.json" }, NOBODY] },
  "GET /healthz": { 200: [{ path: "/healthz" }, NOBODY] },
});

async function walked(): Promise<Walk> {
  const on = desk();
  const begin = async (key: string): Promise<string> => {
    const { body } = await on.ask({ path: "/runs", json: { agent: "actor" }, headers: { "Idempotency-Key": key } });
    return String(body["run"]);
  };
  const [run, ended] = [await begin("kept"), await begin("ended")];
  const { born } = rowOf(on, ended);
  await drive(runnerOf(on.world, on.agent), { run: ended, born, chain: 1, epoch: 0, agent: on.agent.name });
  const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
  const headers = { "Idempotency-Key": "kept" };
  await on.ask({ path: "/runs", json: { agent: "omnivore", input: 1 }, headers });
  return { on, run, ended, token: String(body["resumeToken"]) };
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

describe("every documented answer", () => {
  test("is given", async () => {
    const walk = await walked();
    const seen = new Set<string>();
    for (const [operation, requests] of Object.entries(requestsOf(walk))) {
      // 202 before 200: the second of two that are alike.
      const order = Object.entries(requests).toSorted(
        ([one], [other]) => Number(one === "200") - Number(other === "200"),
      );
      for (const [status, [request, from]] of order) {
        const answered = await walk.on.ask(request, from);
        expect(`${operation} ${answered.status}`, answered.text.slice(0, 300)).toBe(`${operation} ${status}`);
        seen.add(`${operation} ${answered.status}`);
      }
    }
    for (const on of [desk({}, away), desk({}, mistaken)]) {
      const run = `local-${"b".repeat(26)}`;
      await on.ask({ path: "/runs", json: { agent: "actor" } });
      await on.ask({ path: `/runs/${run}` });
      await on.ask({ path: `/runs/${run}/messages`, json: { text: "a" } });
      for (const each of on.seen) seen.add(each);
    }
    expect([...seen].toSorted()).toEqual(DOCUMENTED.toSorted());
  });
});

describe("what goes wrong inside", () => {
  test.each([
    ["the store is away", away, 503, "StoreUnreachable"],
    ["cairn is wrong", mistaken, 500, "Unexpected"],
  ] as const)("is told to the operator alone: %s", async (_, change, status, code) => {
    const on = desk({}, change);
    const answered = await on.ask({ path: `/runs/${ABSENT}` });
    expect([answered.status, answered.body["code"]]).toEqual([status, code]);
    expect(answered.headers.get("retry-after")).toBe(status === 503 ? "2" : null);
    expect(answered.text).not.toMatch(/SECRET|arn:|AKIA|node_modules|\.ts/);
    expect(on.records).toMatchObject([{ level: "alarm", run: ABSENT, what: code }]);
    const why = String(on.records[0]?.detail["why"]);
    expect(why).toContain(SECRET.replace(/AKIA\w+/, "[redacted aws-access-key]"));
    expect(why.startsWith(`${String(answered.body["instance"])}: `)).toBe(true);
  });

  test("an agent that cannot be loaded is the operator's to mend", async () => {
    const on = desk();
    const answered = await on.ask({ path: "/runs", json: { agent: "broken" } });
    expect([answered.status, answered.body["code"]]).toEqual([500, "AgentInvalid"]);
    expect(answered.text).not.toContain("SECRET");
    expect(on.records).toMatchObject([{ what: "AgentInvalid", detail: { why: expect.stringContaining("broken.ts") } }]);
  });

  test("a run whose snapshot is damaged is told as unreadable, and stays as it is", async () => {
    const on = desk();
    const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
    const run = String(body["run"]);
    const before = rowOf(on, run);
    for (const key of on.world.store.objects.keys()) on.world.store.objects.set(key, Uint8Array.of(1, 2, 3));
    const answered = await on.ask({ path: `/runs/${run}` });
    expect([answered.status, answered.body["code"]]).toEqual([500, "Unreadable"]);
    expect(answered.text).not.toContain("snapshots/");
    expect(rowOf(on, run)).toEqual(before);
    expect(on.records).toMatchObject([{ run, what: "Unreadable" }]);
  });
});
