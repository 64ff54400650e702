/** The exact bytes of a request to a provider, and the reply made of its response; over HTTP with a test server. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Tool, tool } from "../../src/index.ts";
import type { Model, ModelOutcome, ModelReply } from "../../src/ports/model.ts";
import { modelOf } from "../../src/providers/model.ts";
import { SIZES } from "../../src/codec/limits.ts";
import { type Message, type Part, inline, text } from "../../src/core/message.ts";
import { type ChatAnswer, type ChatServer, startChatServer } from "../support/processes/chat-completions.ts";

const searchFlights = tool({
  description: "Finds flights.",
  input: z.object({ from: z.string().describe("an airport code"), to: z.string(), seats: z.int().min(1).default(1) }),
  effect: "none",
  run: () => null,
}) as unknown as Tool;

const noInput = tool({ input: z.object({}), effect: "unsafe", run: () => null }) as unknown as Tool;

const said = (role: Message["role"], ...parts: Part[]): Message => ({
  id: "m",
  at: 1,
  source: "test",
  role,
  parts,
  tokens: 0,
});

const called = (call: string, args: object | string, provider: object | null = null): Part => ({
  kind: "call",
  call,
  tool: "searchFlights",
  args: inline(args as never),
  provider: provider as never,
});

const result = (call: string, outcome: "succeeded" | "failed" | "unknown", json: unknown): Part => ({
  kind: "result",
  call,
  tool: "searchFlights",
  outcome,
  edited: null,
  value: inline(json as never),
});

const keyed = (key: string) => async (name: string) => (name === "OPENAI_COMPATIBLE_API_KEY" ? key : null);
const modelAt = (server: ChatServer): Model => modelOf(`openai-compatible:${server.url}#m`);

function ask(model: Model, messages: readonly Message[], tools: Readonly<Record<string, Tool>> = {}) {
  return model.ask({ instructions: "Be brief.", messages, tools, signal: new AbortController().signal });
}

async function answered(answer: ChatAnswer): Promise<ModelOutcome> {
  await using server = await startChatServer(() => answer);
  return await ask(modelAt(server), [said("user", text("Hi"))]);
}

async function bodyOf(messages: readonly Message[], tools: Readonly<Record<string, Tool>> = {}) {
  await using server = await startChatServer(() => ({ kind: "reply", text: "ok" }));
  await ask(modelAt(server), messages, tools);
  expect(server.asked).toHaveLength(1);
  return server.asked[0]?.body;
}

describe("the request", () => {
  test("contains the instructions, the transcript and the tools, and nothing else", async () => {
    const messages = [
      said("user", text('{"from":"BER"}')),
      said("assistant", text("Let me look."), called("c1", { from: "BER", to: "LIS" }), called("c2", {})),
      said("tool", result("c1", "succeeded", { flights: ["TP 531"] })),
      said("tool", result("c2", "succeeded", "nothing found")),
      said("user", text("Go on.")),
    ];
    expect(await bodyOf(messages, { searchFlights, noInput })).toStrictEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: '{"from":"BER"}' },
        {
          role: "assistant",
          content: "Let me look.",
          tool_calls: [
            { id: "c1", type: "function", function: { name: "searchFlights", arguments: '{"from":"BER","to":"LIS"}' } },
            { id: "c2", type: "function", function: { name: "searchFlights", arguments: "{}" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: '{"flights":["TP 531"]}' },
        { role: "tool", tool_call_id: "c2", content: "nothing found" },
        { role: "user", content: "Go on." },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "searchFlights",
            description: "Finds flights.",
            parameters: {
              type: "object",
              properties: {
                from: { type: "string", description: "an airport code" },
                to: { type: "string" },
                seats: { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 },
              },
              required: ["from", "to"],
            },
          },
        },
        { type: "function", function: { name: "noInput", parameters: { type: "object", properties: {} } } },
      ],
    });
  });

  test("describes failed calls and unknown outcomes as text", async () => {
    const body = await bodyOf([
      said("assistant", called("c1", {}), called("c2", {})),
      said("tool", result("c1", "failed", { code: "NoSeat" })),
      said("tool", result("c2", "unknown", "timed out 3 times")),
    ]);
    expect(body?.messages.slice(2)).toStrictEqual([
      { role: "tool", tool_call_id: "c1", content: 'The call failed: {"code":"NoSeat"}' },
      {
        role: "tool",
        tool_call_id: "c2",
        content: "It is not known whether this call took effect; it may have. timed out 3 times",
      },
    ]);
  });

  test("shows a large value by its head, tail and size", async () => {
    const value = { kind: "blob", sha256: "0".repeat(64), bytes: 70_000, head: '["first', tail: 'last"]' } as const;
    const shown =
      "This value has 70000 bytes, which is too long to show. " +
      'cairn_read, where it is offered, reads the rest: its `result` is "0000000000000000". ' +
      'Its first 7 characters:\n["first\nIts last 6 characters:\nlast"]';
    const body = await bodyOf([
      said("assistant", { ...called("c1", {}), args: value } as Part),
      said("tool", { ...result("c1", "succeeded", null), value } as Part),
    ]);
    expect(body?.messages[1]?.tool_calls?.[0]?.function.arguments).toBe(JSON.stringify({ shortened: shown }));
    expect(body?.messages[2]?.content).toBe(shown);
  });

  test("returns a provider's own metadata and reasoning", async () => {
    const provider = { "openai-compatible": { thoughtSignature: "sig-1" } };
    const reasoning: Part = { kind: "reasoning", text: "Lisbon is warm.", provider: null };
    const body = await bodyOf([said("assistant", reasoning, called("c1", {}, provider))]);
    expect(body?.messages[1]).toStrictEqual({
      role: "assistant",
      content: null,
      reasoning_content: "Lisbon is warm.",
      tool_calls: [
        {
          id: "c1",
          type: "function",
          function: { name: "searchFlights", arguments: "{}" },
          extra_content: { google: { thought_signature: "sig-1" } },
        },
      ],
    });
  });

  test("sends arguments that were not JSON as an object, and drops what a provider refuses", async () => {
    const body = await bodyOf([said("assistant", text(" ")), said("assistant", text(""), called("c1", '{"from":'))]);
    expect(body?.messages.slice(1)).toStrictEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "c1",
            type: "function",
            function: { name: "searchFlights", arguments: '{"unreadable":"{\\"from\\":"}' },
          },
        ],
      },
    ]);
  });

  test("carries the present value of its API key, or no key", async () => {
    await using server = await startChatServer(() => ({ kind: "reply", text: "ok" }));
    await ask(modelOf(`openai-compatible:${server.url}/#m`, keyed("k-1")), []);
    await ask(modelOf(`openai-compatible:${server.url}#m`, keyed("")), []);
    expect(server.asked.map(({ path, headers }) => ({ path, authorization: headers["authorization"] }))).toStrictEqual([
      { path: "/v1/chat/completions", authorization: "Bearer k-1" },
      { path: "/v1/chat/completions", authorization: undefined },
    ]);
  });
});

describe("the reply", () => {
  test("contains its parts in order, its finish reason and its tokens", async () => {
    const calls = [{ tool: "searchFlights", args: { from: "BER" }, signature: "sig-1" }];
    const usage = { in: 120, out: 34 };
    expect(await answered({ kind: "reply", reasoning: "Hm.", text: "One moment.", calls, usage })).toStrictEqual({
      kind: "reply",
      parts: [
        { kind: "reasoning", text: "Hm.", provider: null },
        { kind: "text", text: "One moment." },
        {
          kind: "call",
          tool: "searchFlights",
          args: { from: "BER" },
          provider: { "openai-compatible": { thoughtSignature: "sig-1" } },
        },
      ],
      finish: "tool-calls",
      tokensIn: 120,
      tokensOut: 34,
    });
  });

  test("has no parts when there is no content, and no tokens when there is no usage", async () => {
    expect(await answered({ kind: "reply", usage: null })).toStrictEqual({
      ...{ kind: "reply", parts: [], finish: "stop" },
      ...{ tokensIn: 0, tokensOut: 0, isUncounted: true },
    });
  });

  test("counts as not reported where 0 tokens are said of a reply with content", async () => {
    const usage = { in: 0, out: 0 };
    expect(await answered({ kind: "reply", text: "two hundred words", usage })).toMatchObject({ isUncounted: true });
    expect(await answered({ kind: "reply", usage })).not.toHaveProperty("isUncounted");
  });

  test("has a safe whole number of tokens, whatever the provider reports", async () => {
    const cost = async (usage: { in: number; out: number }) => {
      const { tokensIn, tokensOut } = (await answered({ kind: "reply", usage })) as ModelReply;
      return [tokensIn, tokensOut];
    };
    expect(await cost({ in: -3, out: 1.5 })).toStrictEqual([0, 2]);
    expect(await cost({ in: 1e300, out: 0 })).toStrictEqual([1e9, 0]);
  });

  test.each([
    ["arguments that are no JSON", { tool: "searchFlights", args: '{"from":' }, "searchFlights"],
    ["a number that JSON cannot keep", { tool: "searchFlights", args: '{"from":1e999}' }, "searchFlights"],
    ["a key that is half a character", { tool: "searchFlights", args: '{"\\ud800":1}' }, "searchFlights"],
    ["a name that no tool can have", { tool: "search flights!", args: "{}" }, "search_flights_"],
    ["no name", { tool: "", args: "{}" }, "unnamed"],
  ])("a call with %s is a bad call", async (_, call, tool) => {
    expect(await answered({ kind: "reply", calls: [call] })).toMatchObject({
      parts: [{ kind: "badCall", tool, raw: call.args }],
    });
  });

  test("accepts a call without arguments, and leaves unknown tools to the runner", async () => {
    const calls = [
      { tool: "noInput", args: "" },
      { tool: "nobody", args: "null" },
    ];
    expect(await answered({ kind: "reply", calls })).toMatchObject({
      parts: [
        { kind: "call", tool: "noInput", args: {} },
        { kind: "call", tool: "nobody", args: null },
      ],
    });
  });

  test("reports that it is truncated", async () => {
    const reply = await answered({ kind: "reply", text: "The first rea", finish: "length" });
    expect(reply).toMatchObject({ kind: "failed", cut: { limit: "length", parts: [{ text: "The first rea" }] } });
  });

  test("is well-formed Unicode, as its digest requires", async () => {
    const reply = await answered({ kind: "reply", text: "a\ud800b", calls: [{ tool: "t", args: { x: "\udc00" } }] });
    expect(reply).toMatchObject({ parts: [{ text: "a\ufffdb" }, { args: { x: "\ufffd" } }] });
  });

  test("is accepted up to the limits of calls and bytes, and refused above them", async () => {
    const calls = (count: number) => Array.from({ length: count }, () => ({ tool: "t", args: "{}" }));
    const most = await answered({ kind: "reply", calls: calls(SIZES.callsPerReplyMax) });
    expect(most).toMatchObject({ kind: "reply" });
    expect(await answered({ kind: "reply", calls: calls(SIZES.callsPerReplyMax + 1) })).toStrictEqual({
      kind: "failed",
      failure: { code: "ReplyTooLarge", message: "you requested 17 calls at once; at most 16 are accepted" },
      ...{ retryable: false, retryAfterMs: null },
      spent: { tokensIn: expect.any(Number) as number, tokensOut: expect.any(Number) as number },
    });
    const long = await answered({ kind: "reply", text: "ä".repeat(SIZES.replyBytesMax / 2) });
    expect(long).toMatchObject({ kind: "reply" });
    const longer = await answered({ kind: "reply", text: `${"ä".repeat(SIZES.replyBytesMax / 2)}.` });
    expect(longer).toMatchObject({ kind: "failed", failure: { code: "ReplyTooLarge" }, retryable: false });
  });

  test("continues the conversation of calls and results until the model has an answer", async () => {
    await using server = await startChatServer(({ messages }) => {
      const found = messages.findLast(({ role }) => role === "tool");
      if (found === undefined) return { kind: "reply", calls: [{ tool: "searchFlights", args: { from: "BER" } }] };
      return { kind: "reply", text: `I found ${found.content}` };
    });
    const model = modelAt(server);
    expect(model.name).toBe("openai-compatible:m");
    const question = said("user", text("From Berlin."));
    const first = await ask(model, [question], { searchFlights });
    expect(first).toMatchObject({ parts: [{ kind: "call", args: { from: "BER" } }] });
    const second = await ask(model, [
      question,
      said("assistant", called("c1", { from: "BER" })),
      said("tool", result("c1", "succeeded", ["TP 531"])),
    ]);
    expect(second).toMatchObject({ parts: [{ kind: "text", text: 'I found ["TP 531"]' }], finish: "stop" });
  });
});
