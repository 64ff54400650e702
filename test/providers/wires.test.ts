/** Every provider that cairn names, over HTTP in its own wire format: what a run gets of each reply and of each fault. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type Tool, tool } from "../../src/index.ts";
import { type Message, inline, text } from "../../src/core/message.ts";
import type { Piece } from "../../src/ports/delta-log.ts";
import type { ModelOutcome, RepliedPart } from "../../src/ports/model.ts";
import { modelOf } from "../../src/providers/model.ts";
import { anthropic } from "../support/providers/anthropic.ts";
import { bedrock } from "../support/providers/bedrock.ts";
import { google } from "../support/providers/google.ts";
import { openai } from "../support/providers/openai.ts";
import { openaiCompatible } from "../support/providers/openai-compatible.ts";
import { type Answer, type ProviderServer, startProvider } from "../support/providers/provider-server.ts";
import type { Said, Wire } from "../support/providers/wire.ts";

const KEY = "key-of-the-test-123";
const WIRES = { anthropic, openai, google, bedrock, openaiCompatible } as const;
/** A call without a reader asks for the whole reply; one with a reader streams. */
const FORMS = ["whole", "streamed"] as const;
type Form = (typeof FORMS)[number];
const BOTH = Object.values(WIRES).flatMap((wire) => FORMS.map((form) => ({ form, wire, name: wire.model })));
const EACH = Object.values(WIRES).map((wire) => ({ wire, name: wire.model }));

const search = tool({ input: z.object({ city: z.string() }), effect: "none", run: () => null }) as unknown as Tool;
const user = { id: "m1", at: 1, source: "task", role: "user", parts: [text("Hi")], tokens: 0 } as const;

interface Asking {
  readonly messages?: readonly Message[];
  readonly signal?: AbortSignal;
  readonly mayCall?: boolean;
  readonly onPiece?: (piece: Piece) => void;
}

const ask = (wire: Wire, form: Form, asking: Asking = {}): Promise<ModelOutcome> =>
  modelOf(wire.model, async (name) => (name === wire.secret ? KEY : null)).ask({
    ...{ instructions: "Be brief.", messages: [user], tools: { search }, signal: new AbortController().signal },
    ...(form === "streamed" ? { onPiece: () => undefined } : {}),
    ...asking,
  });

/** The outcome of one request, which must have reached the server once: no provider may try again by itself. */
async function outcomeOf(wire: Wire, form: Form, answer: Answer): Promise<ModelOutcome> {
  await using server = await startProvider(wire, answer);
  const outcome = await ask(wire, form);
  expect(server.sent).toHaveLength(1);
  return outcome;
}

const CALL: RepliedPart = { kind: "call", tool: "search", args: { city: "Oslo" }, provider: null };

/** The transcript after a reply with one call, which cairn numbers itself, and its result. */
function afterCall(replied: readonly RepliedPart[]): readonly Message[] {
  const parts = replied.map((part) => (part.kind === "call" ? { ...part, call: "c1", args: inline(part.args) } : part));
  const result = { kind: "result", call: "c1", tool: "search", outcome: "succeeded", edited: null } as const;
  return [
    user,
    { ...user, id: "m2", role: "assistant", parts: parts as Message["parts"] },
    { ...user, id: "m3", role: "tool", parts: [{ ...result, value: inline("14 degrees") }] },
  ];
}

const says = (said: Said): Answer => ({ kind: "says", said });
const HELLO: Said = { text: ["Hello, ", "world"] };
const failed = (retryable: boolean, code = "ModelFailed") => ({ kind: "failed", failure: { code }, retryable });
/** The runner answers such a call with an error, so the model repairs it. */
const BAD_CALL = { kind: "badCall", tool: "search", raw: '{"city":' };
const MALFORMED = failed(false, "ReplyMalformed");
const PARTIAL = { ...failed(true), isPartial: true };

afterEach(() => vi.unstubAllEnvs());

/** Bedrock needs a region; a developer's environment may have one. */
const withRegion = (): void => void vi.stubEnv("AWS_REGION", "eu-central-1");

describe.each(BOTH)("$name, $form", ({ wire, form }) => {
  test("a text is a reply with every token that was counted", async () => {
    withRegion();
    const finish = { finish: "stop", ...wire.counts };
    expect(await outcomeOf(wire, form, says(HELLO))).toEqual({
      ...{ kind: "reply", parts: [{ kind: "text", text: "Hello, world" }], ...finish },
    });
  });

  test("parallel calls keep their order and arguments, also if their IDs are the same", async () => {
    withRegion();
    const calls = ["Oslo", "Rome"].map((city) => ({ id: "same", tool: "search", args: ['{"ci', `ty":"${city}"}`] }));
    const outcome = await outcomeOf(wire, form, says({ text: ["I look."], calls }));
    expect(outcome).toMatchObject({ kind: "reply", finish: "tool-calls" });
    expect(outcome.kind === "reply" && outcome.parts).toMatchObject([
      { kind: "text", text: "I look." },
      { kind: "call", tool: "search", args: { city: "Oslo" } },
      { kind: "call", tool: "search", args: { city: "Rome" } },
    ]);
  });

  test("reasoning goes back to the provider as it came, with the results under cairn's own call IDs", async () => {
    withRegion();
    const call = { id: "theirs", tool: "search", args: ['{"city":"Oslo"}'] };
    await using server = await startProvider(wire, says({ reasoning: "Where?", calls: [call] }));
    const first = await ask(wire, form);
    if (first.kind !== "reply") throw new Error("no reply");
    await ask(wire, form, { messages: afterCall(first.parts) });
    const again = JSON.stringify(server.sent[1]?.body);
    expect(first.parts[0]).toMatchObject({ kind: "reasoning", text: "Where?" });
    for (const kept of ["signed", "14 degrees", "Oslo"]) expect(again).toContain(kept);
    expect(again).not.toContain("theirs");
  });

  test("a request that allows no call shows the earlier calls and their results, and gives none", async () => {
    withRegion();
    const calls = [{ id: "theirs", tool: "search", args: ['{"city":"Rome"}'] }];
    await using server = await startProvider(
      wire,
      says({ text: ["It was mild."], calls: wire === bedrock ? calls : [] }),
    );
    const outcome = await ask(wire, form, { messages: afterCall([CALL]), mayCall: false });
    expect(outcome).toMatchObject({ kind: "reply", parts: [{ kind: "text", text: "It was mild." }] });
    expect(outcome.kind === "reply" && outcome.parts).toHaveLength(1);
    const sent = JSON.stringify(server.sent[0]?.body);
    for (const kept of ["14 degrees", "Oslo", '"city"']) expect(sent).toContain(kept);
  });

  test("a throttled request may be sent again after the wait that the provider asks for", async () => {
    withRegion();
    const answer: Answer = { kind: "status", status: 429, headers: { "retry-after": "7" } };
    expect(await outcomeOf(wire, form, answer)).toMatchObject({ ...failed(true), retryAfterMs: 7_000 });
  });

  test.each([500, 503, 529])("HTTP %i may be sent again", async (status) => {
    withRegion();
    const outcome = await outcomeOf(wire, form, { kind: "status", status });
    expect(outcome).toMatchObject(failed(true));
    expect(outcome).toMatchObject({ failure: { message: expect.stringContaining("Slow down") as string } });
  });

  test.each([400, 401, 403, 404])("HTTP %i is not sent again", async (status) => {
    withRegion();
    expect(await outcomeOf(wire, form, { kind: "status", status })).toMatchObject(failed(false, "ModelRefused"));
  });

  test("a page of a proxy may be asked for again, with an error's status and without one", async () => {
    withRegion();
    for (const status of [200, 502]) {
      const answer: Answer = { kind: "body", status, body: "<html>Bad Gateway</html>" };
      expect(await outcomeOf(wire, form, answer)).toMatchObject(failed(true));
    }
  });

  test("a refusal and a content filter withhold the reply: the model is told, and the tokens count", async () => {
    withRegion();
    for (const end of ["refusal", "filter"] as const) {
      const outcome = await outcomeOf(wire, form, says({ text: ["I cannot say that."], end }));
      expect(outcome).toMatchObject({ ...failed(false, "ReplyFiltered"), spent: wire.counts });
      expect(outcome).toMatchObject({ failure: { message: expect.stringContaining("I cannot say that.") as string } });
    }
  });

  test("an abort ends the call and closes the connection", async () => {
    withRegion();
    await using server = await startProvider(wire, { kind: "hang" });
    const stop = new AbortController();
    const arrived = server.nextSent();
    const outcome = ask(wire, form, { signal: stop.signal });
    const { closed } = await arrived;
    stop.abort();
    expect(await outcome).toEqual({ kind: "aborted" });
    await closed;
  });

  test("carries the key, and no error shows it", async () => {
    withRegion();
    const body = JSON.stringify({ error: { message: `wrong key ${KEY}` }, message: `wrong key ${KEY}` });
    await using server = await startProvider(wire, { kind: "body", status: 401, body });
    const outcome = await ask(wire, form);
    const [header, value] = wire.authorized;
    expect(server.sent[0]?.headers[header]).toBe(value(KEY));
    expect(outcome).toMatchObject({ failure: { message: expect.stringContaining("wrong key [removed]") as string } });
  });
});

/** The text that a reader has seen, and whether the call has ended. */
function reading(wire: Wire, signal?: AbortSignal) {
  const seen = { text: "", hasEnded: false };
  const onPiece = ({ kind, text: piece }: Piece): void => void (kind === "text" && (seen.text += piece));
  const outcome = ask(wire, "streamed", { onPiece, ...(signal === undefined ? {} : { signal }) }).finally(
    () => (seen.hasEnded = true),
  );
  return { seen, outcome };
}

/** All frames up to the last piece of the text, and none of what follows it. */
const half = (wire: Wire) => wire.stream(HELLO).slice(0, -wire.endFrames);

async function dripText(wire: Wire, server: ProviderServer, seen: { readonly text: string }): Promise<void> {
  half(wire).forEach(() => server.drip());
  await expect.poll(() => seen.text).toBe("Hello, world");
}

describe.each(EACH)("a stream of $name", ({ wire }) => {
  test("that drips is seen as it comes, long before its end", async () => {
    withRegion();
    await using server = await startProvider(wire, { kind: "drip", said: HELLO });
    const arrived = server.nextSent();
    const { seen, outcome } = reading(wire);
    await arrived;
    await dripText(wire, server, seen);
    expect(seen.hasEnded).toBe(false);
    while (server.drip());
    expect(await outcome).toMatchObject({ kind: "reply", parts: [{ text: "Hello, world" }] });
  });

  test("that is aborted in the middle ends the call and closes the connection", async () => {
    withRegion();
    await using server = await startProvider(wire, { kind: "drip", said: HELLO });
    const stop = new AbortController();
    const arrived = server.nextSent();
    const { seen, outcome } = reading(wire, stop.signal);
    const { closed } = await arrived;
    await dripText(wire, server, seen);
    stop.abort();
    expect(await outcome).toEqual({ kind: "aborted" });
    await closed;
  });

  test.each(["clean", "cut"] as const)("that ends in the middle of its reply was paid for: a %s end", async (end) => {
    withRegion();
    expect(await outcomeOf(wire, "streamed", { kind: "frames", frames: half(wire), end })).toMatchObject(PARTIAL);
  });

  test("that ends before its reply has begun may be asked for again", async () => {
    withRegion();
    for (const end of ["clean", "cut"] as const) {
      const outcome = await outcomeOf(wire, "streamed", { kind: "frames", frames: [], end });
      expect(outcome).toMatchObject(failed(true));
      expect(outcome).not.toHaveProperty("isPartial");
    }
  });

  test("that reports an overloaded provider may be asked for again, before its reply and within it", async () => {
    withRegion();
    const overloaded = wire.overloaded("Too many users");
    for (const [before, expected] of [
      [[], failed(true)],
      [half(wire), PARTIAL],
    ] as const) {
      const answer: Answer = { kind: "frames", frames: [...before, overloaded], end: "clean" };
      const outcome = await outcomeOf(wire, "streamed", answer);
      expect(outcome).toMatchObject(expected);
      expect(outcome).toMatchObject({ failure: { message: expect.stringContaining("Too many users") as string } });
    }
  });

  test("that becomes unreadable in the middle was paid for, and may be asked for again", async () => {
    withRegion();
    const junk = typeof half(wire)[0] === "string" ? 'data: {"type":\n\n' : Buffer.from("<html>Bad Gateway</html>");
    const answer: Answer = { kind: "frames", frames: [...half(wire), junk], end: "clean" };
    expect(await outcomeOf(wire, "streamed", answer)).toMatchObject(PARTIAL);
  });

  test("with a call that cannot be read gives what the model is told about it", async () => {
    withRegion();
    const answer: Answer = { kind: "frames", frames: wire.malformedCall(), end: "clean" };
    const told = wire.unreadable === "arguments" ? { parts: [BAD_CALL] } : { ...MALFORMED, spent: wire.counts };
    expect(await outcomeOf(wire, "streamed", answer)).toMatchObject(told);
  });
});

test.each(
  EACH.flatMap((from) => EACH.map((to) => ({ from: from.wire, to: to.wire, name: `${from.name} to ${to.name}` }))),
)("a transcript goes on with another provider, with every call and result: $name", async ({ from, to }) => {
  withRegion();
  const call = { id: "theirs", tool: "search", args: ['{"city":"Oslo"}'] };
  const said: Said = { reasoning: "Where?", text: ["I look."], calls: [call] };
  const first = await outcomeOf(from, "streamed", says(said));
  if (first.kind !== "reply") throw new Error("no reply");
  await using server = await startProvider(to, says(HELLO));
  expect(await ask(to, "whole", { messages: afterCall(first.parts) })).toMatchObject({ kind: "reply" });
  const sent = JSON.stringify(server.sent[0]?.body);
  for (const kept of ["I look.", "Oslo", "14 degrees"]) expect(sent).toContain(kept);
  // A server of the chat format may stand before Gemini, so its package passes on what Gemini signed.
  expect(sent.includes("signed")).toBe(from === to || (from === google && to === openaiCompatible));
});
