/** The job APIs of providers, over HTTP in their own wire format: starts, looks, cancels, and starts whose answer is lost. */
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { type Tool, scriptedAsynchronousModel, tool } from "../../src/index.ts";
import { text } from "../../src/core/message.ts";
import type { ModelRequest } from "../../src/ports/model.ts";
import type { DetachedCalls } from "../../src/ports/model.ts";
import { modelOf } from "../../src/providers/model.ts";
import { anthropic } from "../support/providers/anthropic.ts";
import { type BatchServer, startBatchServer } from "../support/providers/batch-server.ts";
import { openai } from "../support/providers/openai.ts";
import type { Wire } from "../support/providers/wire.ts";

const KEY = "key-of-the-test-123";
const KEY_OF_CALL = "cairn-0123456789abcdef";

interface Case {
  readonly name: string;
  readonly wire: Wire;
  /** The body of the request within what the server was sent. */
  readonly bodyIn: (server: BatchServer) => unknown;
}

const CASES: readonly Case[] = [
  { name: "openai-background:m", wire: openai, bodyIn: ({ detached }) => detached[0]?.sent },
  { name: "openai-batch:m", wire: openai, bodyIn: ({ files }) => files.get("file-1") },
  {
    ...{ name: "anthropic-batch:m", wire: anthropic },
    bodyIn: ({ detached }) => detached[0]?.sent["requests"],
  },
];

const search = tool({ input: z.object({ city: z.string() }), effect: "none", run: () => null }) as unknown as Tool;
const user = { id: "m1", at: 1, source: "task", role: "user", parts: [text("Hi")], tokens: 0 } as const;

const request = (): ModelRequest => ({
  ...{ instructions: "Be brief.", messages: [user], tools: { search }, signal: new AbortController().signal },
});

function detachedOf(name: string, key: string | null = KEY): DetachedCalls {
  const { detached } = modelOf(name, async () => key);
  if (detached === undefined) throw new Error(`${name} has no jobs`);
  return detached;
}

async function started(name: string): Promise<string> {
  const sent = await detachedOf(name).submit(request(), KEY_OF_CALL);
  if (sent.kind !== "submitted") throw new Error(`not submitted: ${JSON.stringify(sent)}`);
  return sent.reference;
}

const done = ({ whole }: Wire) => ({
  kind: "done" as const,
  body: JSON.parse(whole({ text: ["Hello"], calls: [{ id: "x", tool: "search", args: ['{"city":"Oslo"}'] }] })) as {
    readonly [name: string]: unknown;
  },
});

afterEach(() => vi.unstubAllEnvs());

describe.each(CASES)("$name", ({ name, wire, bodyIn }) => {
  test("a job is pending until it is done, and its reply is read as that of any call", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    expect(await detachedOf(name).poll(request(), reference)).toEqual({
      ...{ kind: "pending", why: "its provider works on it" },
    });
    server.finish(0, done(wire));
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({
      ...{ kind: "reply", finish: "tool-calls", ...wire.counts },
      parts: [
        { kind: "text", text: "Hello" },
        { kind: "call", tool: "search", args: { city: "Oslo" } },
      ],
    });
  });

  test("a reply that a limit cut plans nothing, as that of any call", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    const calls = [{ id: "x", tool: "search", args: [""] }];
    const whole = JSON.parse(wire.whole({ calls, end: "length" })) as { readonly [name: string]: unknown };
    server.finish(0, { kind: "done", body: whole });
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({
      ...{ kind: "failed", failure: { code: "ReplyCut" }, cut: { calls: 1, parts: [] }, spent: { tokensOut: 30 } },
    });
  });

  test("its request has the key of the job, the prompt, the tools and the credential", async () => {
    await using server = await startBatchServer();
    await started(name);
    const [header, value] = wire.authorized;
    expect(server.detached[0]?.headers[header]).toBe(value(KEY));
    expect(JSON.stringify(server.detached[0]?.sent)).toContain(KEY_OF_CALL);
    for (const part of ["Be brief.", "Hi", "search"]) expect(JSON.stringify(bodyIn(server))).toContain(part);
  });

  test("a cancel reaches the job", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    await detachedOf(name).cancel?.(request(), reference);
    expect(server.detached[0]?.isCancelled).toBe(true);
  });

  test("a job that its provider refused fails with the provider's words, and is not started again", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    server.finish(0, { kind: "refused", message: "this prompt is invalid" });
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({
      ...{ kind: "failed", retryable: false },
      failure: { code: "ModelRefused", message: expect.stringContaining("this prompt is invalid") as string },
    });
    expect(await detachedOf(name).poll(request(), reference)).not.toHaveProperty("isPartial");
  });

  test("a job that its provider does not know any more may be started again, and may have been paid for", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    server.forget();
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({
      ...{ kind: "failed", retryable: true, isPartial: true },
    });
  });

  test("a job whose reply cannot be read may have been paid for", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    const { body } = done(wire);
    server.finish(0, { kind: "done", body: { ...body, output: 7, content: 7 } });
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({ kind: "failed", isPartial: true });
  });

  test("a job is pending while its provider cannot be asked", async () => {
    await using server = await startBatchServer();
    const reference = await started(name);
    server.finish(0, done(wire));
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed")));
    expect(await detachedOf(name).poll(request(), reference)).toEqual({
      ...{ kind: "pending", why: "fetch failed", isUnasked: true },
    });
  });

  test.each([
    ["a refused key", KEY, "HTTP 401: the key [removed] was revoked"],
    ["no key", null, "which has no value"],
  ])("a look with %s says that the provider could not be asked, and does not show the key", async (_, key, why) => {
    await using server = await startBatchServer();
    const reference = await started(name);
    server.refuse({ status: 401, message: `the key ${KEY} was revoked` });
    const { poll, find } = detachedOf(name, key);
    const unasked = { why: expect.stringContaining(why) as string, isUnasked: true };
    expect(await poll(request(), reference)).toEqual({ kind: "pending", ...unasked });
    const sought = { key: KEY_OF_CALL, since: Date.now(), until: Date.now() };
    if (find !== undefined) expect(await find(request(), sought)).toEqual({ kind: "unsure", ...unasked });
  });

  test("a refused start made no job, and its key is not shown", async () => {
    await using server = await startBatchServer();
    server.fail({ status: 401, message: `the key ${KEY} is wrong` });
    const sent = await detachedOf(name).submit(request(), KEY_OF_CALL);
    expect(sent).toMatchObject({ kind: "failed", retryable: false, failure: { code: "ModelRefused" } });
    expect(JSON.stringify(sent)).not.toContain(KEY);
    expect(server.detached).toHaveLength(0);
  });

  test("a throttled start made no job, and may be sent again", async () => {
    await using server = await startBatchServer();
    server.fail({ status: 429, message: "slow down" });
    expect(await detachedOf(name).submit(request(), KEY_OF_CALL)).toMatchObject({ kind: "failed", retryable: true });
  });

  test.each([500, 503])("HTTP %i leaves open whether there is a job", async (status) => {
    await using server = await startBatchServer();
    server.fail({ status, message: "try later" });
    expect(await detachedOf(name).submit(request(), KEY_OF_CALL)).toMatchObject({ kind: "unknown" });
  });

  test("a start without a connection made no job", async () => {
    const refusedBy = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    onTestFinished(() => void vi.unstubAllGlobals());
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("fetch failed", { cause: refusedBy })));
    expect(await detachedOf(name).submit(request(), KEY_OF_CALL)).toMatchObject({ kind: "failed", retryable: true });
  });

  test("nothing leaves without a key", async () => {
    await using server = await startBatchServer();
    const sent = await detachedOf(name, null).submit(request(), KEY_OF_CALL);
    expect(sent).toMatchObject({ kind: "failed", retryable: true, failure: { code: "ModelNotConfigured" } });
    expect(server.asked).toEqual([]);
  });

  test("the answer to its start is lost", async () => {
    await using server = await startBatchServer();
    server.fail("lost");
    expect(await detachedOf(name).submit(request(), KEY_OF_CALL)).toMatchObject({ kind: "unknown" });
    expect(server.detached).toHaveLength(1);
    const { find } = detachedOf(name);
    const sought = { key: KEY_OF_CALL, since: Date.now(), until: Date.now() };
    if (name.startsWith("openai-background")) {
      expect(find).toBeUndefined();
      return;
    }
    // A batch of Anthropic shows its key only in its results.
    if (wire === anthropic) expect(await find?.(request(), sought)).toMatchObject({ kind: "unsure" });
    server.finish(0, done(wire));
    expect(await find?.(request(), sought)).toEqual({ kind: "found", reference: server.detached[0]?.id });
    expect(await find?.(request(), { ...sought, key: "cairn-other" })).toEqual({ kind: "absent" });
    for (const otherMs of [3_600_000, -3_600_000]) {
      const then = { since: Date.now() + otherMs, until: Date.now() + otherMs };
      expect(await find?.(request(), { ...sought, ...then })).toMatchObject(
        wire === anthropic ? { kind: "absent" } : { kind: "found" },
      );
    }
  });
});

test("a start that left no batch is known, also if other batches of the account are always in progress", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000_000_000 });
  onTestFinished(() => void vi.useRealTimers());
  await using server = await startBatchServer();
  const sought = { key: "cairn-lost", since: Date.now(), until: Date.now() + 900_000 };
  await started("anthropic-batch:m");
  server.finish(0, done(anthropic));
  vi.setSystemTime(Date.now() + 3_600_000);
  await started("anthropic-batch:m");
  expect(await detachedOf("anthropic-batch:m").find?.(request(), sought)).toEqual({ kind: "absent" });
});

test.each([
  ["nothing", undefined],
  ["no text", 7],
  ["an empty text", ""],
  ["a text that is too long", "x".repeat(1_025)],
])("a start that gives %s as its reference may have made a job", async (_, reference) => {
  const submit = async () => reference as string;
  const find = async () => ({ kind: "found" as const, reference: reference as string });
  const model = scriptedAsynchronousModel({ name: "slow", reply: () => ({ text: "over" }) });
  const { detached } = modelOf(Object.assign({}, model, { detached: { ...model.detached, submit, find } }));
  expect(await detached?.submit(request(), KEY_OF_CALL)).toMatchObject({
    ...{ kind: "unknown", why: expect.stringContaining("it gave no reference") },
  });
  expect(await detached?.find?.(request(), { key: KEY_OF_CALL, since: 0, until: 1 })).toMatchObject({ kind: "unsure" });
});

test("a batch that expired may be started again", async () => {
  for (const name of ["openai-batch:m", "anthropic-batch:m"]) {
    await using server = await startBatchServer();
    const reference = await started(name);
    server.finish(0, { kind: "expired" });
    expect(await detachedOf(name).poll(request(), reference)).toMatchObject({ kind: "failed", retryable: true });
  }
});

const FULL =
  "Enqueued token limit reached for m in organization org-1. Limit: 90,000 enqueued tokens. " +
  "Please try again once some in_progress batches have been completed.";

test("a batch that found the queue of its account full may be started again", async () => {
  await using server = await startBatchServer();
  const reference = await started("openai-batch:m");
  server.finish(0, {
    kind: "failed",
    errors: [{ code: "token_limit_exceeded", message: FULL, param: null, line: null }],
  });
  expect(await detachedOf("openai-batch:m").poll(request(), reference)).toMatchObject({
    ...{ kind: "failed", retryable: true, retryAfterMs: null },
    failure: { code: "ModelFailed", message: `HTTP 429: ${FULL}: token_limit_exceeded` },
  });
});

test.each([
  [{ code: "invalid_json_line", message: "line 1 is no JSON" }, "line 1 is no JSON: invalid_json_line"],
  [{ code: null, message: "no reason" }, "no reason"],
])("a batch that failed as a whole because of %o is not started again", async (error, words) => {
  await using server = await startBatchServer();
  const reference = await started("openai-batch:m");
  server.finish(0, { kind: "failed", errors: [error] });
  expect(await detachedOf("openai-batch:m").poll(request(), reference)).toMatchObject({
    ...{ kind: "failed", retryable: false },
    failure: { code: "ModelRefused", message: `HTTP 400: ${words}` },
  });
});

test("a background response is stored at its provider, since it could not be asked for otherwise", async () => {
  await using server = await startBatchServer();
  await started("openai-background:m");
  expect(server.detached[0]?.sent).toMatchObject({
    background: true,
    store: true,
    metadata: { cairn_call: KEY_OF_CALL },
  });
});

test("a batch of OpenAI has one line with the request, and the key in its metadata", async () => {
  await using server = await startBatchServer();
  await started("openai-batch:m");
  expect(server.asked).toEqual(["POST /files", "POST /batches"]);
  expect(server.detached[0]?.sent).toEqual({
    ...{ input_file_id: "file-1", endpoint: "/v1/responses", completion_window: "24h" },
    metadata: { cairn_call: KEY_OF_CALL },
  });
});

test("other models have no jobs", () => {
  for (const name of ["openai:m", "anthropic:m", "google:m", "bedrock:m"])
    expect(modelOf(name).detached).toBeUndefined();
});
