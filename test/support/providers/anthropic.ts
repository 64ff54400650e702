/** Anthropic's Messages API. */
import { type Frame, type Said, type Wire, argsOf, sse } from "./wire.ts";

const USAGE = { input_tokens: 20, cache_read_input_tokens: 70, cache_creation_input_tokens: 10 };
const OUTPUT = { output_tokens: 30, output_tokens_details: { thinking_tokens: 12 } };

const stopReason = ({ end, word, calls = [] }: Said): string | null => {
  if (word !== undefined) return word;
  if (end === "length") return "max_tokens";
  if (end !== undefined) return "refusal";
  return calls.length > 0 ? "tool_use" : "end_turn";
};

const event = (type: string, fields: object): Frame => sse({ type, ...fields }, type);

function streamed(said: Said): readonly Frame[] {
  const { reasoning, text, calls = [] } = said;
  let index = -1;
  const block = (begin: object, deltas: readonly object[]): readonly Frame[] => {
    index += 1;
    return [
      event("content_block_start", { index, content_block: begin }),
      ...deltas.map((delta) => event("content_block_delta", { index, delta })),
      event("content_block_stop", { index }),
    ];
  };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
  return [
    event("message_start", { message: { ...message, usage: { ...USAGE, output_tokens: 1 } } }),
    event("ping", {}),
    ...(reasoning === undefined
      ? []
      : block({ type: "thinking", thinking: "", signature: "" }, [
          { type: "thinking_delta", thinking: reasoning },
          { type: "signature_delta", signature: "signed" },
        ])),
    ...(text === undefined
      ? []
      : block(
          { type: "text", text: "" },
          text.map((piece) => ({ type: "text_delta", text: piece })),
        )),
    ...calls.flatMap(({ id, tool, args }) =>
      block(
        { type: "tool_use", id, name: tool, input: {} },
        args.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
      ),
    ),
    event("message_delta", { delta: { stop_reason: stopReason(said), stop_sequence: null }, usage: OUTPUT }),
    event("message_stop", {}),
  ];
}

export const anthropic: Wire = {
  ...{ model: "anthropic:claude-opus-4-5", secret: "ANTHROPIC_API_KEY", package: "@ai-sdk/anthropic" },
  streamType: "text/event-stream",
  counts: { tokensIn: 100, tokensOut: 30, cacheRead: 70, cacheWrite: 10, reasoning: 12 },
  whole: (said) =>
    JSON.stringify({
      ...{ id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: stopReason(said) },
      stop_sequence: null,
      content: [
        ...(said.reasoning === undefined ? [] : [{ type: "thinking", thinking: said.reasoning, signature: "signed" }]),
        ...(said.text === undefined ? [] : [{ type: "text", text: said.text.join("") }]),
        ...(said.calls ?? []).map((call) => ({
          ...{ type: "tool_use", id: call.id, name: call.tool, input: argsOf(call) },
        })),
      ],
      usage: { ...USAGE, ...OUTPUT },
    }),
  stream: streamed,
  endFrames: 3,
  isStream: (_, body) => body["stream"] === true,
  refusal: (status, message) =>
    JSON.stringify({ type: "error", error: { type: status === 429 ? "rate_limit_error" : "api_error", message } }),
  overloaded: (message) => event("error", { error: { type: "overloaded_error", message } }),
  unreadable: "arguments",
  malformedCall: () => streamed({ calls: [{ id: "toolu_1", tool: "search", args: ['{"city":'] }] }),
  authorized: ["x-api-key", (key) => key],
};
