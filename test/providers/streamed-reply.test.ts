/** A streamed reply is the reply that the same call without a stream gives. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { expect, test } from "vitest";
import { UnsupportedFunctionalityError } from "@ai-sdk/provider";
import { scriptedModel } from "../../src/index.ts";
import type { Piece } from "../../src/ports/delta-log.ts";
import { modelOf } from "../../src/providers/model.ts";

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const FINISH: LanguageModelV4StreamPart = {
  ...{ type: "finish", usage: USAGE, finishReason: { unified: "tool-calls", raw: undefined } },
};

const scripted = (): LanguageModelV4 =>
  scriptedModel({
    name: "m",
    reply: () => ({ text: "Hello, \u{1f980} world", calls: [{ tool: "pay", args: { sum: 1 } }] }),
  });

const streaming = (parts: readonly LanguageModelV4StreamPart[], fails?: Error): LanguageModelV4 => ({
  ...scripted(),
  doStream: async () => {
    const left = [...parts];
    const pull = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
      const part = left.shift();
      if (part !== undefined) controller.enqueue(part);
      else if (fails === undefined) controller.close();
      else controller.error(fails);
    };
    return { stream: new ReadableStream({ pull }) };
  },
});

/** The outcome of a call, and the pieces if it streams. */
async function asked(model: LanguageModelV4, streams = true, signal = new AbortController().signal) {
  const pieces: Piece[] = [];
  const request = { instructions: "", messages: [], tools: {}, signal };
  const onPiece = (piece: Piece): void => void pieces.push(piece);
  const outcome = await modelOf(model).ask(streams ? { ...request, onPiece } : request);
  return { outcome, pieces };
}

test("gives the same reply as a call that does not stream, and its pieces", async () => {
  const { outcome, pieces } = await asked(scripted());
  expect(outcome).toEqual((await asked(scripted(), false)).outcome);
  expect(pieces).toEqual([
    { kind: "text", index: 0, text: "Hello, " },
    { kind: "text", index: 0, text: "\u{1f980} " },
    { kind: "text", index: 0, text: "world" },
    { kind: "text", index: 0, text: "", isLast: true },
    { kind: "call", index: 1, tool: "pay", text: '{"sum":1}' },
    { kind: "call", index: 1, tool: "pay", text: "", isLast: true },
  ]);
});

test("keeps parts apart and in order, with the last metadata of each", async () => {
  const { outcome, pieces } = await asked(
    streaming([
      { type: "stream-start", warnings: [] },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { a: { signature: "s" } } },
      { type: "text-start", id: "0" },
      { type: "reasoning-end", id: "0" },
      { type: "text-delta", id: "0", delta: "one" },
      { type: "text-end", id: "0" },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "two" },
      { type: "text-end", id: "0" },
      { type: "tool-input-start", id: "c", toolName: "pay" },
      { type: "tool-input-start", id: "d", toolName: "search", providerExecuted: true },
      { type: "tool-input-delta", id: "d", delta: "{}" },
      { type: "tool-input-delta", id: "c", delta: '{"sum":' },
      { type: "tool-input-delta", id: "c", delta: "1}" },
      { type: "tool-input-end", id: "c" },
      { type: "tool-call", toolCallId: "c", toolName: "pay", input: '{"sum":1}' },
      FINISH,
    ]),
  );
  expect(outcome).toMatchObject({
    kind: "reply",
    finish: "tool-calls",
    tokensIn: 10,
    parts: [
      { kind: "reasoning", text: "Hm", provider: { a: { signature: "s" } } },
      { kind: "text", text: "one" },
      { kind: "text", text: "two" },
      { kind: "call", tool: "pay", args: { sum: 1 } },
    ],
  });
  expect(pieces.map(({ kind, index, text, isLast }) => [kind, index, isLast === true ? "END" : text])).toEqual([
    ["reasoning", 0, "Hm"],
    ["reasoning", 0, "END"],
    ["text", 1, "one"],
    ["text", 1, "END"],
    ["text", 2, "two"],
    ["text", 2, "END"],
    ["call", 3, '{"sum":'],
    ["call", 3, "1}"],
    ["call", 3, "END"],
  ]);
});

const HALF: readonly LanguageModelV4StreamPart[] = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "half" },
];

test.each<[what: string, model: LanguageModelV4]>([
  ["its connection breaks", streaming(HALF, new Error("socket hang up"))],
  ["the provider reports an error", streaming([...HALF, { type: "error", error: new Error("overloaded") }])],
  ["it ends without saying so", streaming(HALF)],
])("a reply that breaks off was paid for, and may be asked for again: %s", async (_, model) => {
  const { outcome } = await asked(model);
  expect(outcome).toMatchObject({ kind: "failed", retryable: true, isPartial: true, failure: { code: "ModelFailed" } });
});

test("a call that fails before its reply begins fails as one that does not stream", async () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  const { outcome } = await asked(streaming([{ type: "stream-start", warnings: [] }], refused));
  expect(outcome).toMatchObject({ kind: "failed", retryable: true });
  expect(outcome).not.toHaveProperty("isPartial");
});

test("a model that cannot stream gives its reply as a whole", async () => {
  const doStream = async (): Promise<never> => {
    throw new UnsupportedFunctionalityError({ functionality: "streaming" });
  };
  const { doStream: _, ...without } = scripted();
  for (const model of [{ ...scripted(), doStream }, without as LanguageModelV4]) {
    const { outcome, pieces } = await asked(model);
    expect(outcome).toMatchObject({ kind: "reply", parts: [{ text: "Hello, \u{1f980} world" }, {}] });
    expect(pieces).toEqual([]);
  }
});

test("a stream that is aborted is aborted, whatever it said", async () => {
  const stop = new AbortController();
  const model = streaming(HALF, new Error("aborted"));
  const doStream: LanguageModelV4["doStream"] = async (options) => {
    const streamed = await model.doStream(options);
    stop.abort();
    return streamed;
  };
  expect((await asked({ ...model, doStream }, true, stop.signal)).outcome).toEqual({ kind: "aborted" });
});
