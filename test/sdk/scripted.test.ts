/** A scripted model is a function of the conversation: it sees exactly what a real model would see. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../src/ports/agent.ts";
import { tool } from "../../src/sdk/define.ts";
import { modelOf } from "../../src/providers/model.ts";
import { type Conversation, type ScriptedReply, scriptedModel } from "../../src/sdk/scripted.ts";
import type { Json } from "../../src/core/json.ts";
import { type CallOutcome, type Message, type Part, inline, text } from "../../src/core/message.ts";

const echo = tool({ input: z.object({}), effect: "none", run: () => null }) as unknown as Tool;

const said = (role: Message["role"], ...parts: Part[]): Message => ({
  id: "m",
  at: 1,
  source: "test",
  role,
  parts,
  tokens: 0,
});

const task = (json: Json): Message => said("user", text(JSON.stringify(json)));

/** A reply with one call, and the message with its result. */
function settled(call: string, of: { tool: string; args: Json; outcome: CallOutcome; result: Json }): Message[] {
  const { tool: name, args, outcome, result } = of;
  return [
    said("assistant", text(`${name}?`), { kind: "call", call, tool: name, args: inline(args), provider: null }),
    said("tool", { kind: "result", call, tool: name, outcome, value: inline(result), edited: null }),
  ];
}

function ask(reply: (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>, messages: Message[]) {
  const signal = new AbortController().signal;
  const model = modelOf(scriptedModel({ name: "script", reply }));
  return model.ask({ instructions: "Be brief.", messages, tools: { echo }, signal });
}

async function seen(messages: Message[]): Promise<Conversation> {
  let conversation: Conversation | undefined;
  await ask((given) => {
    conversation = given;
    return {};
  }, messages);
  return conversation as Conversation;
}

describe("the conversation", () => {
  test("contains the task, the messages, the calls and the turn", async () => {
    const conversation = await seen([
      task({ to: "LIS" }),
      ...settled("c1", { tool: "search", args: { to: "LIS" }, outcome: "succeeded", result: [1, 2] }),
      said("user", text("Faster.")),
    ]);
    const { resultOf, ...rest } = conversation;
    expect(rest).toStrictEqual({
      instructions: "Be brief.",
      task: { text: '{"to":"LIS"}', json: { to: "LIS" } },
      messages: [
        { role: "user", text: '{"to":"LIS"}' },
        { role: "assistant", text: "search?" },
        { role: "tool", text: "[1,2]" },
        { role: "user", text: "Faster." },
      ],
      calls: [{ tool: "search", args: { to: "LIS" }, outcome: "succeeded", result: [1, 2] }],
      turn: 1,
    });
    expect(resultOf("search")).toStrictEqual([1, 2]);
    expect(resultOf("book")).toBeUndefined();
  });

  test("contains a task that is plain text as text", async () => {
    expect((await seen([said("user", text("Book a trip"))])).task).toStrictEqual({
      text: "Book a trip",
      json: undefined,
    });
  });

  test("distinguishes a failed call from an unknown outcome", async () => {
    const conversation = await seen([
      task(null),
      ...settled("c1", { tool: "book", args: {}, outcome: "succeeded", result: "B-1" }),
      ...settled("c2", { tool: "book", args: {}, outcome: "failed", result: "sold out" }),
      ...settled("c3", { tool: "book", args: {}, outcome: "unknown", result: "timed out" }),
    ]);
    expect(conversation.calls.map(({ outcome, result }) => ({ outcome, result }))).toStrictEqual([
      { outcome: "succeeded", result: "B-1" },
      { outcome: "failed", result: "sold out" },
      { outcome: "unknown", result: "timed out" },
    ]);
    expect(conversation.messages.filter(({ role }) => role === "tool").map(({ text: words }) => words)).toStrictEqual([
      "B-1",
      "The call failed: sold out",
      "It is not known whether this call took effect; it may have. timed out",
    ]);
    expect(conversation.resultOf("book")).toBe("B-1");
    expect(conversation.turn).toBe(3);
  });
});

describe("the reply", () => {
  const book = ({ task: { json }, resultOf }: Conversation): ScriptedReply => {
    const found = resultOf("search");
    return found === undefined
      ? { text: "Looking.", calls: [{ tool: "search", args: { for: json } }] }
      : { text: `Booked ${JSON.stringify(found)}.` };
  };

  test("depends only on the conversation: two tasks give two runs, one task gives one run", async () => {
    const lisbon = await ask(book, [task("LIS")]);
    expect(lisbon).toMatchObject({
      kind: "reply",
      parts: [
        { kind: "text", text: "Looking." },
        { kind: "call", tool: "search", args: { for: "LIS" } },
      ],
      finish: "tool-calls",
    });
    expect(await ask(book, [task("LIS")])).toStrictEqual(lisbon);
    expect(await ask(book, [task("OPO")])).not.toStrictEqual(lisbon);
    const later = settled("c1", { tool: "search", args: {}, outcome: "succeeded", result: "TP 531" });
    expect(await ask(book, [task("LIS"), ...later])).toMatchObject({
      parts: [{ kind: "text", text: 'Booked "TP 531".' }],
      finish: "stop",
    });
  });

  test("costs about one token per four characters by default", async () => {
    const cost = async (reply: ScriptedReply, messages: Message[]) => {
      const outcome = await ask(() => reply, messages);
      return outcome.kind === "reply" ? [outcome.tokensIn, outcome.tokensOut] : [];
    };
    const [shortIn = 0, shortOut = 0] = await cost({ text: "x" }, [task("x")]);
    const [longIn = 0, longOut = 0] = await cost({ text: "x".repeat(401) }, [task("x".repeat(401))]);
    expect([longIn - shortIn, longOut - shortOut]).toStrictEqual([100, 100]);
    expect(await cost({ tokensIn: 5_000, tokensOut: 0 }, [task("x")])).toStrictEqual([5_000, 0]);
  });

  test("may be empty", async () => {
    expect(await ask(() => ({}), [])).toMatchObject({ kind: "reply", parts: [], finish: "stop" });
  });

  test("is aborted by the signal while it is delayed", async () => {
    const stop = new AbortController();
    const reply = async () => {
      queueMicrotask(() => stop.abort());
      return { text: "late", delayMs: 60_000 };
    };
    const model = modelOf(scriptedModel({ name: "slow", reply }));
    expect(model.name).toBe("scripted:slow");
    const outcome = await model.ask({ instructions: "", messages: [task(1)], tools: {}, signal: stop.signal });
    expect(outcome).toStrictEqual({ kind: "aborted" });
  });

  test("arrives after its delay", async () => {
    expect(await ask(() => ({ text: "soon", delayMs: 1 }), [task(1)])).toMatchObject({ parts: [{ text: "soon" }] });
  });
});

test("streams its reply word by word, and its calls", async () => {
  const reply = { text: "one two", calls: [{ tool: "pay", args: { sum: 3 } }], delayMs: 2 };
  const model = scriptedModel({ name: "script", reply: () => reply });
  const { stream } = await model.doStream({ prompt: [] });
  const parts: { readonly type: string; readonly delta?: string }[] = [];
  for await (const part of stream) parts.push(part);
  expect(parts.flatMap(({ delta }) => delta ?? [])).toEqual(["one ", "two", '{"sum":3}']);
  expect(parts.map(({ type }) => type)).toEqual(
    expect.arrayContaining(["text-start", "text-end", "tool-input-start", "tool-input-end", "tool-call", "finish"]),
  );
});

test("a call that another loop shows as denied has failed, with the reason as its result", async () => {
  let conversation: Conversation | undefined;
  const model = scriptedModel({
    name: "script",
    reply: (given) => {
      conversation = given;
      return {};
    },
  });
  const called = (toolCallId: string) =>
    ({ type: "tool-call", toolCallId, toolName: "pay", input: {} }) as const satisfies object;
  const denied = (toolCallId: string, reason?: string) => ({
    ...({ type: "tool-result", toolCallId, toolName: "pay" } as const),
    output: { type: "execution-denied" as const, ...(reason !== undefined && { reason }) },
  });
  await model.doGenerate({
    prompt: [
      { role: "user", content: [{ type: "text", text: "Pay." }] },
      { role: "assistant", content: [called("c1"), called("c2")] },
      { role: "tool", content: [denied("c1", "too much"), denied("c2")] },
    ],
  });
  expect(conversation?.calls.map(({ outcome, result }) => ({ outcome, result }))).toEqual([
    { outcome: "failed", result: "too much" },
    { outcome: "failed", result: "denied" },
  ]);
  expect(conversation?.resultOf("pay")).toBeUndefined();
});
