/** Ids, bodies, headers and paths that nobody means well with: each is refused as what it is, and none is a fault. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { type Started, startRun } from "../../src/operations/start.ts";
import { type Answered, type Asking, desk } from "../support/api.ts";

const VALID = "a".repeat(26);
const json = { "content-type": "application/json" };
const codeOf = ({ status, body }: Answered) => [status, body["code"]];
const nested = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("a run id", () => {
  test.each([
    "x",
    "local",
    `local-${VALID}x`,
    `local-${"1".repeat(26)}`,
    `LOCAL-${VALID}`,
    `-${VALID}`,
    `${"t".repeat(25)}-${VALID}`,
    `other-${VALID}`,
    `local2-${VALID}`,
    "..%2f..%2fetc",
    "%00",
    "%ff%fe",
    "constructor",
    "local-*",
    "'; drop table runs; --",
    "x".repeat(200),
  ])("that is none, or another tenant's, is not found and not looked for: %s", async (id) => {
    const read: string[] = [];
    const on = desk({}, (world) => ({
      ...world,
      table: {
        ...world.table,
        read: (run, now) => {
          read.push(run);
          return world.table.read(run, now);
        },
      },
    }));
    const absent = await on.ask({ path: `/runs/local-${VALID}` });
    expect(read).toEqual([`local-${VALID}`]);
    const looked = await on.ask({ path: `/runs/${id}` });
    const sent = await on.ask({ path: `/runs/${id}/messages`, json: { text: "a" } });
    // In the very words of a run that is not there.
    expect([looked.status, looked.text]).toEqual([404, absent.text]);
    expect([sent.status, sent.text]).toEqual([404, absent.text]);
    expect(read).toHaveLength(1);
  });

  test("of another tenant is not found though it is there", async () => {
    const on = desk();
    const { body } = await on.ask({ path: "/runs", json: { agent: "actor" } });
    const path = `/runs/${String(body["run"])}`;
    expect((await on.ask({ path })).status).toBe(200);
    const bob = { caller: { tenant: "other", actor: "bob" } };
    expect(codeOf(await on.ask({ path }, bob))).toEqual([404, "RunUnknown"]);
    expect(codeOf(await on.ask({ path: `${path}/messages`, json: { text: "a" } }, bob))).toEqual([404, "RunUnknown"]);
    expect([...on.world.store.rows.values()].map(({ wakeCount }) => wakeCount)).toEqual([0]);
  });
});

describe("a body", () => {
  const on = desk();
  const start = (request: Partial<Asking>) => on.ask({ method: "POST", path: "/runs", ...request });

  test.each<readonly [string, Partial<Asking>, number, string]>([
    ["of nothing", { headers: json }, 400, "BadJson"],
    ["that breaks off", { body: '{"agent":"actor"', headers: json }, 400, "BadJson"],
    ["in bytes that are no text", { body: Uint8Array.of(0x22, 0xff, 0x22), headers: json }, 400, "BadJson"],
    [
      "that is not said to be JSON",
      { body: "{}", headers: { "content-type": "text/plain" } },
      415,
      "MediaTypeUnsupported",
    ],
    [
      "said to be nearly JSON",
      { body: "{}", headers: { "content-type": "application/jsonx" } },
      415,
      "MediaTypeUnsupported",
    ],
    ["of a form", { body: "a=1", headers: { "content-type": "multipart/form-data" } }, 415, "MediaTypeUnsupported"],
    ["that is a list", { json: [] }, 422, "RequestInvalid"],
    ["that is null", { json: null }, 422, "RequestInvalid"],
    ["with a field too many", { json: { agent: "actor", tenant: "other" } }, 422, "RequestInvalid"],
    ["with a number for a name", { json: { agent: 1 } }, 422, "RequestInvalid"],
    ["for an agent of every object", { json: { agent: "constructor" } }, 404, "AgentUnknown"],
    ["for an agent of broken text", { body: String.raw`{"agent":"\ud800"}`, headers: json }, 404, "AgentUnknown"],
    ["that names a prototype", { body: '{"agent":"actor","__proto__":{"x":1}}', headers: json }, 422, "RequestInvalid"],
    [
      "nested very deep",
      { body: `{"agent":"omnivore","input":${nested(50_000)}}`, headers: json },
      422,
      "RequestInvalid",
    ],
    [
      "with names of broken text",
      { body: String.raw`{"agent":"omnivore","input":{"\ud800":1}}`, headers: json },
      422,
      "InputInvalid",
    ],
    ["that is too large", { body: `"${"x".repeat(SIZES.httpBodyBytesMax)}"`, headers: json }, 413, "TooLarge"],
    [
      "longer than it says",
      { body: `"${"x".repeat(SIZES.httpBodyBytesMax)}"`, headers: { ...json, "content-length": "2" } },
      413,
      "TooLarge",
    ],
  ])("%s is refused", async (_, request, status, code) => {
    expect(codeOf(await start(request))).toEqual([status, code]);
    expect(on.world.store.rows.size).toBe(0);
    expect(on.records).toEqual([]);
  });

  test("names an agent that is looked for only if it is a name", async () => {
    const on = desk();
    for (const agent of ["", "no name", "../agent", "x".repeat(65), "nobody"]) {
      expect(codeOf(await on.ask({ path: "/runs", json: { agent } }))).toEqual([404, "AgentUnknown"]);
    }
    expect(on.named).toEqual(["nobody"]);
  });

  test("is taken as deep and as large as the bounds say", async () => {
    const on = desk();
    const deep = JSON.parse(nested(SIZES.jsonDepthMax)) as unknown;
    expect((await on.ask({ path: "/runs", json: { agent: "omnivore", input: deep } })).status).toBe(202);
    const rest = JSON.stringify({ agent: "omnivore", input: "" }).length;
    const large = "x".repeat(SIZES.httpBodyBytesMax - rest);
    const { status, body } = await on.ask({ path: "/runs", json: { agent: "omnivore", input: large } });
    expect(status).toBe(202);
    expect((await on.ask({ path: `/runs/${String(body["run"])}` })).body).toMatchObject({ omitted: ["#/task"] });
  });

  test("says for each place what is wrong there", async () => {
    const input = { to: 7, nights: [1, "two"], "a/b~c": 1 };
    const { status, body } = await start({ json: { agent: "traveller", input } });
    expect([status, body["code"]]).toEqual([422, "InputInvalid"]);
    const errors = body["errors"] as readonly { readonly pointer: string }[];
    expect(errors.map(({ pointer }) => pointer)).toEqual(["#/input/to", "#/input/nights/1", "#/input/a~1b~0c"]);
  });

  test("with very much wrong is answered in few words", async () => {
    const nights = Array.from({ length: 20_000 }, () => "x".repeat(20));
    const many = Object.fromEntries(nights.map((_, index) => [`${"k".repeat(50)}${index}`, 1]));
    for (const input of [
      { to: "Rome", nights },
      { to: "Rome", nights: [], ...many },
    ]) {
      const { status, text } = await start({ json: { agent: "traveller", input } });
      expect(status).toBe(422);
      expect(text.length).toBeLessThan(30_000);
    }
    const agent = (await on.agentOf("traveller")) as Agent;
    const asked = { agent, input: { to: "Rome", nights }, tenant: "local", idempotencyKey: null };
    const { issues, why } = (await startRun(on.world, asked)) as Extract<Started, { readonly kind: "invalid" }>;
    expect(issues).toHaveLength(SIZES.issuesMax);
    expect(why.match(/nights/g)).toHaveLength(SIZES.issuesMax);
  });
});

describe("a header", () => {
  test.each([
    ["Idempotency-Key", ""],
    ["Idempotency-Key", "k".repeat(BOUNDS.idempotencyKeyCharactersMax + 1)],
  ])("%s that cannot be used is named", async (name, value) => {
    const on = desk();
    const { status, body } = await on.ask({ path: "/runs", json: { agent: "actor" }, headers: { [name]: value } });
    expect([status, body["errors"]]).toMatchObject([422, [{ header: name }]]);
  });
});

describe("a path", () => {
  test.each([
    ["GET", "/runs", "POST"],
    ["PUT", `/runs/local-${VALID}`, "GET, HEAD"],
    ["GET", `/runs/local-${VALID}/messages`, "POST"],
    ["POST", "/openapi.json", "GET, HEAD"],
    ["DELETE", "/healthz", "GET, HEAD"],
  ])("that is known says which methods it takes: %s %s", async (method, path, allow) => {
    const { status, headers, body } = await desk().ask({ method, path });
    expect([status, body["code"], headers.get("allow")]).toEqual([405, "MethodNotAllowed", allow]);
  });

  test.each(["/", "/run", "/runs/", `/runs/local-${VALID}/`, "/runs/a/b/c", "//runs"])(
    "that is not known is not found: %s",
    async (path) => {
      expect((await desk().ask({ path })).status).toBe(404);
    },
  );
});

describe("whatever is sent", () => {
  const text = fc.string({ unit: "binary", maxLength: 40 });
  const header = fc.stringMatching(/^[\x20-\x7e]{0,60}$/);
  const segment = fc.oneof(fc.constant(`local-${VALID}`), fc.constant("runs"), fc.constant("messages"), text);
  const path = fc.oneof(
    fc.constantFrom("/runs", "/healthz", "/openapi.json"),
    fc
      .array(segment, { maxLength: 4 })
      .map((parts) => `/${parts.map((part) => encodeURIComponent(part.toWellFormed())).join("/")}`),
  );
  const agent = fc.oneof(fc.constantFrom("actor", "traveller", "omnivore", "constructor", "__proto__"), text);
  const start = fc.record({ agent, input: fc.jsonValue() }, { requiredKeys: [] });
  const message = fc.record({ text, id: text }, { requiredKeys: [] });
  const body = fc.oneof(
    fc.oneof(start, message, fc.jsonValue()).map((value) => JSON.stringify(value)),
    text.map((each) => each.toWellFormed()),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)),
  );
  const headers = fc.record(
    {
      "content-type": fc.oneof({ weight: 5, arbitrary: fc.constant("application/json") }, header),
      "Idempotency-Key": header,
      "If-Match": fc.oneof(fc.constant("*"), header),
      "If-None-Match": header,
    },
    { requiredKeys: [] },
  );

  test("is no fault of ours, and is answered as the document says", async () => {
    const on = desk();
    const { body: begun } = await on.ask({ path: "/runs", json: { agent: "actor" } });
    const known = `/runs/${String(begun["run"])}`;
    const where = fc.oneof(path, fc.constantFrom(known, `${known}/messages`, "/runs"));
    const method = fc.constantFrom("POST", "POST", "POST", "PUT", "DELETE", "PATCH", "OPTIONS");
    const words = message.map((value) => JSON.stringify(value));
    const said = fc.record({ path: fc.constant(`${known}/messages`), headers, body: words });
    const asked = fc.oneof(fc.record({ method, path: where, headers, body }), said);
    await fc.assert(
      fc.asyncProperty(asked, async (request) => {
        expect((await on.ask(request)).status).toBeLessThan(500);
      }),
      { numRuns: 1_000 },
    );
    await fc.assert(
      fc.asyncProperty(fc.record({ path: where, headers }), async (request) => {
        expect((await on.ask(request)).status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
    expect(on.records).toEqual([]);
    // It did not only meet doors that are shut.
    for (const each of ["POST /runs 202", "POST /runs/{run}/messages 202", "GET /runs/{run} 200"]) {
      expect([...on.seen]).toContain(each);
    }
  });
});
