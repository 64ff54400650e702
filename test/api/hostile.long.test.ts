/** Ids, bodies, headers and paths that nobody means well with: each is refused as what it is, and none is a fault. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BOUNDS } from "../../src/core/limits.ts";
import type { Agent } from "../../src/ports/agent.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { type Started, startRun } from "../../src/operations/start.ts";
import {
  type ApiResponse,
  type ApiRequest,
  createApiHarness,
  createReadNotingApi,
} from "../support/harness/api-harness.ts";
import { STRIDE } from "../support/gate/stride.ts";

const VALID = "a".repeat(26);
const json = { "content-type": "application/json" };
const codeOf = ({ status, body }: ApiResponse) => [status, body["code"]];
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
  ])("that is malformed or another tenant's is reported as missing without a read: %s", async (id) => {
    const { harness, read } = createReadNotingApi();
    const absent = await harness.ask({ path: `/runs/local-${VALID}` });
    expect(read).toEqual([`local-${VALID}`]);
    const looked = await harness.ask({ path: `/runs/${id}` });
    const sent = await harness.ask({ path: `/runs/${id}/messages`, json: { text: "a" } });
    // In the very words of a run that is not there.
    expect({ status: looked.status, text: looked.text }).toEqual({ status: 404, text: absent.text });
    expect({ status: sent.status, text: sent.text }).toEqual({ status: 404, text: absent.text });
    expect(read).toHaveLength(1);
  });

  test("of another tenant is reported as missing although it exists", async () => {
    const harness = createApiHarness();
    const { body } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const path = `/runs/${String(body["run"])}`;
    expect((await harness.ask({ path })).status).toBe(200);
    const bob = { caller: { tenant: "other", actor: "bob" } };
    expect(codeOf(await harness.ask({ path }, bob))).toEqual([404, "RunUnknown"]);
    expect(codeOf(await harness.ask({ path: `${path}/messages`, json: { text: "a" } }, bob))).toEqual([
      404,
      "RunUnknown",
    ]);
    expect([...harness.world.store.rows.values()].map(({ wakeCount }) => wakeCount)).toEqual([0]);
  });
});

describe("a body", () => {
  const harness = createApiHarness();
  const start = (request: Partial<ApiRequest>) => harness.ask({ method: "POST", path: "/runs", ...request });

  test.each<readonly [string, Partial<ApiRequest>, number, string]>([
    ["without content", { headers: json }, 400, "BadJson"],
    ["that is truncated", { body: '{"agent":"actor"', headers: json }, 400, "BadJson"],
    ["in bytes that are not UTF-8", { body: Uint8Array.of(0x22, 0xff, 0x22), headers: json }, 400, "BadJson"],
    [
      "without a JSON content type",
      { body: "{}", headers: { "content-type": "text/plain" } },
      415,
      "MediaTypeUnsupported",
    ],
    [
      "with a content type that resembles JSON",
      { body: "{}", headers: { "content-type": "application/jsonx" } },
      415,
      "MediaTypeUnsupported",
    ],
    [
      "with the content type of a form",
      { body: "a=1", headers: { "content-type": "multipart/form-data" } },
      415,
      "MediaTypeUnsupported",
    ],
    ["that is a list", { json: [] }, 422, "RequestInvalid"],
    ["that is null", { json: null }, 422, "RequestInvalid"],
    ["with an unknown field", { json: { agent: "actor", tenant: "other" } }, 422, "RequestInvalid"],
    ["with a number instead of a name", { json: { agent: 1 } }, 422, "RequestInvalid"],
    ["that names a property of every object as its agent", { json: { agent: "constructor" } }, 404, "AgentUnknown"],
    [
      "that names an agent with invalid Unicode",
      { body: String.raw`{"agent":"\ud800"}`, headers: json },
      404,
      "AgentUnknown",
    ],
    ["that names a prototype", { body: '{"agent":"actor","__proto__":{"x":1}}', headers: json }, 422, "RequestInvalid"],
    [
      "nested very deeply",
      { body: `{"agent":"omnivore","input":${nested(50_000)}}`, headers: json },
      422,
      "RequestInvalid",
    ],
    [
      "with field names of invalid Unicode",
      { body: String.raw`{"agent":"omnivore","input":{"\ud800":1}}`, headers: json },
      422,
      "InputInvalid",
    ],
    ["that is too large", { body: `"${"x".repeat(SIZES.httpBodyBytesMax)}"`, headers: json }, 413, "TooLarge"],
    [
      "longer than its declared length",
      { body: `"${"x".repeat(SIZES.httpBodyBytesMax)}"`, headers: { ...json, "content-length": "2" } },
      413,
      "TooLarge",
    ],
  ])("%s is refused", async (_, request, status, code) => {
    expect(codeOf(await start(request))).toEqual([status, code]);
    expect(harness.world.store.rows.size).toBe(0);
    expect(harness.records).toEqual([]);
  });

  test("is used to look up an agent only when its agent name is valid", async () => {
    const harness = createApiHarness();
    for (const agent of ["", "no name", "../agent", "x".repeat(65), "nobody"]) {
      expect(codeOf(await harness.ask({ path: "/runs", json: { agent } }))).toEqual([404, "AgentUnknown"]);
    }
    expect(harness.named).toEqual(["nobody"]);
  });

  test("is accepted up to the limits of depth and size", async () => {
    const harness = createApiHarness();
    const deep = JSON.parse(nested(SIZES.jsonDepthMax)) as unknown;
    expect((await harness.ask({ path: "/runs", json: { agent: "omnivore", input: deep } })).status).toBe(202);
    const rest = JSON.stringify({ agent: "omnivore", input: "" }).length;
    const large = "x".repeat(SIZES.httpBodyBytesMax - rest);
    const { status, body } = await harness.ask({ path: "/runs", json: { agent: "omnivore", input: large } });
    expect(status).toBe(202);
    expect((await harness.ask({ path: `/runs/${String(body["run"])}` })).body).toMatchObject({ omitted: ["#/task"] });
  });

  test("gets an error for each path that is wrong", async () => {
    const input = { to: 7, nights: [1, "two"], "a/b~c": 1 };
    const { status, body } = await start({ json: { agent: "traveller", input } });
    expect({ status, code: body["code"] }).toEqual({ status: 422, code: "InputInvalid" });
    const errors = body["errors"] as readonly { readonly pointer: string }[];
    expect(errors.map(({ pointer }) => pointer)).toEqual(["#/input/to", "#/input/nights/1", "#/input/a~1b~0c"]);
  });

  test("gets a short error when very many paths are wrong", async () => {
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
    const agent = (await harness.agentOf("traveller")) as Agent;
    const asked = { agent, input: { to: "Rome", nights }, tenant: "local", idempotencyKey: null };
    const { issues, why } = (await startRun(harness.world, asked)) as Extract<Started, { readonly kind: "invalid" }>;
    expect(issues).toHaveLength(SIZES.issuesMax);
    expect(why.match(/nights/g)).toHaveLength(SIZES.issuesMax);
  });
});

describe("a header", () => {
  test.each([
    ["Idempotency-Key", ""],
    ["Idempotency-Key", "k".repeat(BOUNDS.idempotencyKeyCharactersMax + 1)],
  ])("%s that is invalid is named in the error", async (name, value) => {
    const harness = createApiHarness();
    const { status, body } = await harness.ask({ path: "/runs", json: { agent: "actor" }, headers: { [name]: value } });
    expect({ status, errors: body["errors"] }).toMatchObject({ status: 422, errors: [{ header: name }] });
  });
});

describe("a path", () => {
  test.each([
    ["DELETE", "/runs", "POST, GET, HEAD"],
    ["PUT", `/runs/local-${VALID}`, "GET, HEAD, DELETE"],
    ["GET", `/runs/local-${VALID}/messages`, "POST"],
    ["POST", "/openapi.json", "GET, HEAD"],
    ["DELETE", "/healthz", "GET, HEAD"],
  ])("with another method returns the allowed methods: %s %s", async (method, path, allow) => {
    const { status, headers, body } = await createApiHarness().ask({ method, path });
    expect({ status, code: body["code"], allow: headers.get("allow") }).toEqual({
      status: 405,
      code: "MethodNotAllowed",
      allow,
    });
  });

  test.each(["/", "/run", "/runs/", `/runs/local-${VALID}/`, "/runs/a/b/c", "//runs"])(
    "that is unknown returns not found: %s",
    async (path) => {
      expect((await createApiHarness().ask({ path })).status).toBe(404);
    },
  );
});

describe("any request", () => {
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

  test("causes no server fault and gets a documented response", async () => {
    const harness = createApiHarness();
    const { body: begun } = await harness.ask({ path: "/runs", json: { agent: "actor" } });
    const known = `/runs/${String(begun["run"])}`;
    const where = fc.oneof(path, fc.constantFrom(known, `${known}/messages`, "/runs"));
    const method = fc.constantFrom("POST", "POST", "POST", "PUT", "DELETE", "PATCH", "OPTIONS");
    const words = message.map((value) => JSON.stringify(value));
    const said = fc.record({ path: fc.constant(`${known}/messages`), headers, body: words });
    const asked = fc.oneof(fc.record({ method, path: where, headers, body }), said);
    await fc.assert(
      fc.asyncProperty(asked, async (request) => {
        expect((await harness.ask(request)).status).toBeLessThan(500);
      }),
      { numRuns: Math.ceil(1_000 / STRIDE) },
    );
    await fc.assert(
      fc.asyncProperty(fc.record({ path: where, headers }), async (request) => {
        expect((await harness.ask(request)).status).toBeLessThan(500);
      }),
      { numRuns: Math.ceil(300 / STRIDE) },
    );
    expect(harness.records).toEqual([]);
    // It did not only meet doors that are shut.
    for (const each of ["POST /runs 202", "POST /runs/{run}/messages 202", "GET /runs/{run} 200"]) {
      expect([...harness.seen]).toContain(each);
    }
  });
});
