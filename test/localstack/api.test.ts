/** The HTTP API behind API Gateway: runs are started, shown and messaged; unsigned requests are refused. */
import { describe, expect, test } from "vitest";
import { decide } from "../../src/operations/decide.ts";
import { transcript } from "../../src/operations/views.ts";
import { callsOf, ended, keysOf, laneOf, parked, shown, until } from "./lane.ts";

const lane = laneOf("lane");
const ORDER = { agent: "clerk", input: { steps: [{ do: "order", wrong: 0 }] } };
const ASK = { agent: "clerk", input: { steps: [{ do: "ask", wrong: 0 }] } };

/** Nobody can tell what its call did. */
const MAIL = { agent: "clerk", input: { steps: [{ do: "mail", wrong: 1 }] } };

/** The header as the SDKs write it. LocalStack does not verify the signature itself. */
const SIGNED = {
  authorization:
    "AWS4-HMAC-SHA256 Credential=test/20270101/us-east-1/execute-api/aws4_request, SignedHeaders=host, Signature=0",
};

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

async function ask(path: string, headers: Readonly<Record<string, string>>, body?: unknown): Promise<Answer> {
  const answer = await fetch(`${lane.stack.api}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Answer["body"] };
}

const get = (path: string): Promise<Answer> => ask(path, SIGNED);
const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  ask(path, { ...SIGNED, ...headers }, body);

async function startedBy(wanted: unknown): Promise<string> {
  const { status, body } = await post("/runs", wanted);
  expect(status).toBe(202);
  return String(body["run"]);
}

describe.concurrent("the API", () => {
  test("answers unsigned requests only on the health check and on callbacks", async () => {
    expect(await ask("/healthz", {})).toMatchObject({ status: 200, body: { status: "ok" } });
    expect(await ask("/runs/local-x", {})).toMatchObject({ status: 403 });
    expect(await ask("/runs", {}, ORDER)).toMatchObject({ status: 403 });
    expect(await ask("/callbacks/of-no-run", {}, ORDER)).toMatchObject({
      status: 404,
      body: { code: "CallbackUnknown" },
    });
    expect(await get("/runs/local-x")).toMatchObject({ status: 404, body: { code: "RunUnknown" } });
  });

  test("starts one run per key and shows it until it has ended", async () => {
    const key = { "idempotency-key": `api-${Date.now()}` };
    const first = await post("/runs", ORDER, key);
    expect(first).toMatchObject({ status: 202, body: { agent: "clerk", started: true } });
    const { run } = first.body;
    expect(await post("/runs", ORDER, key)).toMatchObject({ status: 200, body: { run, started: false } });
    expect(first.headers.get("location")).toBe(`/lane/runs/${String(run)}`);
    await until(async () => expect((await get(`/runs/${String(run)}`)).body).toMatchObject({ status: "completed" }));
    expect((await keysOf(lane, String(run))).map(callsOf)).toEqual([1]);
  });

  test("delivers a message to a waiting run under the signer's name", async () => {
    const run = await startedBy(ASK);
    await parked(lane, run);
    const message = { id: "one", text: "take the early one" };
    expect(await post(`/runs/${run}/messages`, message)).toMatchObject({ status: 202, body: { delivered: true } });
    expect(await post(`/runs/${run}/messages`, message)).toMatchObject({ status: 200, body: { delivered: false } });
    await until(async () => expect(JSON.stringify(await transcript(lane.world, run))).toContain(message.text));
    expect(JSON.stringify(await transcript(lane.world, run))).toContain("arn:aws:iam::000000000000:user/test");
    await parked(lane, run);
    const [gate] = (await shown(lane, run)).gates;
    await decide(lane.world, { run, gate: gate?.gate ?? "", as: "approve", args: null, by: "a test", note: null });
    expect(await ended(lane, run)).toMatchObject({ status: "completed" });
    expect(await post(`/runs/${run}/messages`, { text: "too late" })).toMatchObject({
      status: 409,
      body: { code: "Late" },
    });
  });

  test("approves a call, reconciles one whose outcome nobody knows, and cancels a run", async () => {
    const [approved, unknown, cancelled] = await Promise.all([ASK, MAIL, ASK].map(startedBy));
    await until(async () => expect((await get(`/runs/${unknown}`)).body).toMatchObject({ status: "blocked" }));
    const known = { as: "succeeded", result: "it is there", note: "seen in the shop" };
    expect((await post(`/runs/${unknown}/reconcile/c1`, known)).status).toBe(202);
    await parked(lane, approved ?? "");
    const gates = (await get(`/runs/${approved}`)).body["gates"] as readonly { readonly gate: string }[];
    const [gate] = gates;
    expect((await post(`/runs/${approved}/approvals/${gate?.gate}`, { as: "approve" })).status).toBe(202);
    expect((await post(`/runs/${cancelled}/cancel`, {})).status).toBe(202);
    for (const [run, status] of [
      [approved, "completed"],
      [unknown, "completed"],
      [cancelled, "cancelled"],
    ])
      await until(async () => expect((await get(`/runs/${run}`)).body).toMatchObject({ status }));
  });
});
