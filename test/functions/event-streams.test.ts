/** The function that streams events: its responses, its end before the timeout of Lambda, and readers that leave. */
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createToken, revokeToken } from "../../src/operations/access/tokens.ts";
import { startRun } from "../../src/operations/start.ts";
import { type ReaderOptions, TIMEOUT_MS, eventReader } from "../support/aws/event-reader.ts";
import { LAMBDA_RUNTIME, type Streamed } from "../support/aws/lambda-streams.ts";
import { drive, runnerOf } from "../support/harness/drive.ts";
import { callsThenFinal, createHarness, scriptedAgent } from "../support/harness/harness.ts";
import { CLAIM } from "../../src/protocol/row-claim.ts";

beforeEach(() => void vi.stubGlobal("awslambda", LAMBDA_RUNTIME));
afterEach(() => void vi.unstubAllGlobals());

function reading(options: Pick<ReaderOptions, "limits" | "byToken"> = {}) {
  const harness = createHarness();
  const agent = scriptedAgent({ reply: callsThenFinal(1) });
  const { open, ask } = eventReader(harness, options);
  const begin = async (): Promise<string> => {
    const started = await startRun(harness.world, { agent, input: {}, tenant: "local", idempotencyKey: null });
    if (started.kind !== "started") throw new Error(started.kind);
    return started.row.run;
  };
  const play = async (run: string): Promise<void> => {
    const { born, epoch } = harness.row(run);
    await drive(runnerOf(harness.world, agent), { run, born, chain: 1, epoch, agent: agent.name });
  };
  return { harness, open, ask, begin, play };
}

const idsIn = ({ text }: Streamed): readonly string[] =>
  [...text.matchAll(/^id: (\d+)\ndata: \[/gm)].map(([, id = ""]) => id);

const kindsIn = ({ text }: Streamed): readonly string[] =>
  [...text.matchAll(/^data: (\[.*\])$/gm)].flatMap(([, data = ""]) =>
    (JSON.parse(data) as readonly { readonly kind: string }[]).map(({ kind }) => kind),
  );

describe("a stream", () => {
  test("sends every commit once and ends with the run, behind the status and headers that API Gateway reads", async () => {
    const { ask, begin, play } = reading();
    const run = await begin();
    await play(run);
    const streamed = await ask(run);
    expect(streamed).toMatchObject({
      status: 200,
      headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    });
    expect(streamed.text).toMatch(/^retry: 1000\n\n/);
    expect(streamed.text).toMatch(/event: end\ndata: \{"status":"completed"\}\n\n$/);
    const ids = idsIn(streamed);
    expect(ids.length).toBeGreaterThan(2);
    expect(ids).toEqual([...new Set(ids)]);
  });

  test("continues behind the last event that its reader has, or from an index on", async () => {
    const { ask, begin, play } = reading();
    const run = await begin();
    await play(run);
    const all = await ask(run);
    const [, second = ""] = idsIn(all);
    expect(idsIn(await ask(run, { headers: { "Last-Event-ID": second } }))).toEqual(idsIn(all).slice(2));
    expect(kindsIn(await ask(run, { query: { startIndex: "3" } }))).toEqual(kindsIn(all).slice(3));
    expect(kindsIn(await ask(run, { base: "/agents/v1" }))).toEqual(kindsIn(all));
  });

  test("of a quiet run ends before Lambda's timeout without an end of the run, and its reader gets the rest later", async () => {
    const { harness, ask, begin, play } = reading();
    const run = await begin();
    const openedAt = harness.clock.now();
    const first = await ask(run);
    expect(harness.clock.now() - openedAt).toBeGreaterThan(TIMEOUT_MS - 10_000);
    expect(harness.clock.now() - openedAt).toBeLessThan(TIMEOUT_MS);
    expect(first.text).toContain(": the run has no news\n\n");
    expect(first.text).not.toContain("event: end");
    await play(run);
    const last = idsIn(first).at(-1) ?? "0";
    const second = await ask(run, { headers: { "Last-Event-ID": last } });
    expect(second.text).toContain("event: end");
    const whole = await ask(run);
    expect([...idsIn(first), ...idsIn(second)]).toEqual(idsIn(whole));
    expect(harness.clock.next()).toBeNull();
  });

  test("says what the model is saying, and attaches its reader", async () => {
    const { harness, ask, begin } = reading();
    const run = await begin();
    const { table, deltas } = harness.world;
    const { born } = harness.row(run);
    const now = harness.clock.now();
    const entry = { execution: "x", epoch: 0, retry: 0 };
    const claim = { run, born, chain: 1, entry, owner: "a worker", leaseUntil: now + 900_000, level: 99, now };
    expect((await table.decide(claim, CLAIM)).kind).toBe("granted");
    const parts = [{ kind: "text", index: 0, text: "Hello, " }] as const;
    await deltas.append({ run, born }, { epoch: 1, version: 0, seq: 1, at: now, parts });
    const { text } = await ask(run, { query: { deltas: "true" } });
    expect(text).toMatch(/^id: 0\.1\.1\nevent: delta\ndata: \{.*"text":"Hello, "/m);
    expect(await deltas.attachedUntil({ run, now: harness.clock.now() })).not.toBeNull();
  });

  test("whose reader left ends its invocation, and the next reader of the process is served", async () => {
    const { harness, open, ask, begin, play } = reading();
    const run = await begin();
    const openedAt = harness.clock.now();
    const { stream, ended } = open(run);
    stream.destroy();
    // Hono's adapter reports the broken stream to the log.
    const reported = vi.spyOn(console, "error").mockImplementation(() => undefined);
    onTestFinished(() => reported.mockRestore());
    await harness.advanceUntilSettled(ended);
    expect(reported).toHaveBeenCalled();
    expect(harness.clock.now() - openedAt).toBeLessThan(TIMEOUT_MS / 2);
    await play(run);
    expect((await ask(run)).text).toContain("event: end");
  });
});

describe("a reader", () => {
  test("who asks for a page gets one, as from the API", async () => {
    const { ask, begin, play } = reading();
    const run = await begin();
    await play(run);
    const { status, headers, text } = await ask(run, { headers: { Accept: "application/json" } });
    expect({ status, contentType: headers["content-type"] }).toEqual({ status: 200, contentType: "application/json" });
    expect(JSON.parse(text)).toMatchObject({ status: "completed", inProgress: false });
  });

  test("without an identity, or of an unknown run, is refused with a problem", async () => {
    const { ask, begin } = reading();
    const refused = await ask(await begin(), { userArn: null });
    expect({ status: refused.status, text: JSON.parse(refused.text) }).toMatchObject({
      status: 401,
      text: { code: "Unauthenticated" },
    });
    const unknown = await ask(`local-${"a".repeat(26)}`);
    expect({ status: unknown.status, text: JSON.parse(unknown.text) }).toMatchObject({
      status: 404,
      text: { code: "RunUnknown" },
    });
  });

  test("with a token is checked at each page: a revoked token ends the stream", async () => {
    const { harness, ask, open, begin } = reading({ byToken: true });
    const run = await begin();
    const made = { tenant: "local", by: "ann", scopes: ["runs:read"] as const, name: null, lifeMs: null };
    const { secret, token } = await createToken(harness.world, made);
    const headers = { Authorization: `Bearer ${secret}` };
    expect((await ask(run, { userArn: null, headers: { Authorization: "Bearer other" } })).status).toBe(401);
    const openedAt = harness.clock.now();
    const { stream, ended } = open(run, { userArn: null, headers });
    await harness.advanceUntilSettled(once(stream, "readable"));
    await revokeToken(harness.world, { tenant: "local", id: token.token, by: "ann" });
    await harness.advanceUntilSettled(ended);
    expect(harness.clock.now() - openedAt).toBeLessThan(TIMEOUT_MS / 2);
  });

  test("counts as one request of its tenant, however many pages its stream has", async () => {
    const { harness, ask, begin } = reading({ limits: { local: { requestsPerMinute: 1 } } });
    const run = await begin();
    const openedAt = harness.clock.now();
    expect((await ask(run)).text).toContain(": the run has no news");
    expect(harness.clock.now() - openedAt).toBeGreaterThan(TIMEOUT_MS / 2);
    expect((await ask(run)).status).toBe(429);
  });
});
