/** Bedrock's Converse API. Its streams are frames of AWS's binary event format. */
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { type Frame, type Said, type Wire, argsOf } from "./wire.ts";

const USAGE = {
  ...{ inputTokens: 20, cacheReadInputTokens: 70, cacheWriteInputTokens: 10, outputTokens: 30, totalTokens: 130 },
};

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString("utf8"),
  (text) => Buffer.from(text, "utf8"),
);

const frame = (kind: "event" | "exception", type: string, body: object): Uint8Array =>
  codec.encode({
    headers: {
      ":message-type": { type: "string", value: kind },
      [`:${kind}-type`]: { type: "string", value: type },
      ":content-type": { type: "string", value: "application/json" },
    },
    body: Buffer.from(JSON.stringify(body)),
  });

const stopReason = ({ end, word, calls = [] }: Said): string | null => {
  if (word !== undefined) return word;
  if (end === "length") return "max_tokens";
  if (end !== undefined) return end === "filter" ? "guardrail_intervened" : "content_filtered";
  return calls.length > 0 ? "tool_use" : "end_turn";
};

function streamed(said: Said): readonly Frame[] {
  const { reasoning, text, calls = [] } = said;
  let contentBlockIndex = -1;
  const block = (deltas: readonly object[], start?: object): readonly Frame[] => {
    contentBlockIndex += 1;
    return [
      ...(start === undefined ? [] : [frame("event", "contentBlockStart", { contentBlockIndex, start })]),
      ...deltas.map((delta) => frame("event", "contentBlockDelta", { contentBlockIndex, delta })),
      frame("event", "contentBlockStop", { contentBlockIndex }),
    ];
  };
  return [
    frame("event", "messageStart", { role: "assistant" }),
    ...(reasoning === undefined
      ? []
      : block([{ reasoningContent: { text: reasoning } }, { reasoningContent: { signature: "signed" } }])),
    ...(text === undefined ? [] : block(text.map((piece) => ({ text: piece })))),
    ...calls.flatMap(({ id, tool, args }) =>
      block(
        args.map((input) => ({ toolUse: { input } })),
        { toolUse: { toolUseId: id, name: tool } },
      ),
    ),
    frame("event", "messageStop", { stopReason: stopReason(said) }),
    frame("event", "metadata", { usage: USAGE, metrics: { latencyMs: 1 } }),
  ];
}

export const bedrock: Wire = {
  model: "bedrock:us.anthropic.claude-opus-4-5-20251101-v1:0",
  ...{ secret: "AWS_BEARER_TOKEN_BEDROCK", package: "@ai-sdk/amazon-bedrock" },
  streamType: "application/vnd.amazon.eventstream",
  counts: { tokensIn: 100, tokensOut: 30, cacheRead: 70, cacheWrite: 10 },
  whole: (said) =>
    JSON.stringify({
      output: {
        message: {
          role: "assistant",
          content: [
            ...(said.reasoning === undefined
              ? []
              : [{ reasoningContent: { reasoningText: { text: said.reasoning, signature: "signed" } } }]),
            ...(said.text === undefined ? [] : [{ text: said.text.join("") }]),
            ...(said.calls ?? []).map((call) => ({
              toolUse: { toolUseId: call.id, name: call.tool, input: argsOf(call) },
            })),
          ],
        },
      },
      ...{ stopReason: stopReason(said), usage: USAGE, metrics: { latencyMs: 1 } },
    }),
  stream: streamed,
  endFrames: 3,
  isStream: (path) => path.endsWith("/converse-stream"),
  refusal: (_, message) => JSON.stringify({ message }),
  overloaded: (message) => frame("exception", "serviceUnavailableException", { message }),
  unreadable: "arguments",
  malformedCall: () => streamed({ calls: [{ id: "tooluse_1", tool: "search", args: ['{"city":'] }] }),
  authorized: ["authorization", (key) => `Bearer ${key}`],
};
