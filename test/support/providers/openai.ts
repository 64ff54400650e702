/** OpenAI's Responses API. */
import { type Frame, type Said, type Wire, sse } from "./wire.ts";

const USAGE = {
  ...{ input_tokens: 100, input_tokens_details: { cached_tokens: 70 } },
  ...{ output_tokens: 30, output_tokens_details: { reasoning_tokens: 12 }, total_tokens: 130 },
};

const RESPONSE = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: "m" };

/** A word, or none, stands for an incomplete response with that reason. */
const incomplete = ({ end, word }: Said) =>
  word !== undefined
    ? { status: "incomplete", incomplete_details: word === null ? null : { reason: word } }
    : end === "length" || end === "filter"
      ? { incomplete_details: { reason: end === "length" ? "max_output_tokens" : "content_filter" } }
      : { incomplete_details: null };

/** The items of a response, with the events between the two that frame each. */
function itemsOf({ reasoning, text, calls = [], end }: Said) {
  const words = text?.join("") ?? "";
  const content = end === "refusal" ? { type: "refusal", refusal: words } : { type: "output_text", text: words };
  const of = { item_id: "msg_1", content_index: 0 };
  return [
    ...(reasoning === undefined
      ? []
      : [
          {
            item: { type: "reasoning", id: "rs_1", encrypted_content: "signed" },
            begun: { encrypted_content: null },
            done: { summary: [{ type: "summary_text", text: reasoning }] },
            events: ["added", "delta", "done"].map((which) => ({
              type:
                which === "delta"
                  ? "response.reasoning_summary_text.delta"
                  : `response.reasoning_summary_part.${which}`,
              ...{ item_id: "rs_1", summary_index: 0 },
              ...(which === "delta" ? { delta: reasoning } : {}),
            })),
          },
        ]),
    ...(text === undefined
      ? []
      : [
          {
            item: { type: "message", id: "msg_1", role: "assistant" },
            ...{ begun: {}, done: { content: [{ ...content, annotations: [] }] } },
            events: text.map((delta) => ({
              ...{ type: end === "refusal" ? "response.refusal.delta" : "response.output_text.delta", ...of, delta },
            })),
          },
        ]),
    ...calls.map(({ id, tool, args }, index) => ({
      item: { type: "function_call", id: `fc_${index}`, call_id: id, name: tool },
      ...{ begun: { arguments: "" }, done: { arguments: args.join(""), status: "completed" } },
      events: args.map((delta) => ({
        ...{ type: "response.function_call_arguments.delta", item_id: `fc_${index}`, delta },
      })),
    })),
  ];
}

function streamed(said: Said): readonly Frame[] {
  const outcome = incomplete(said);
  const isWhole = outcome.incomplete_details === null && said.word === undefined;
  const type = isWhole ? "response.completed" : "response.incomplete";
  return [
    sse({ type: "response.created", response: RESPONSE }),
    ...itemsOf(said).flatMap(({ item, begun, done, events }, index) => [
      sse({ type: "response.output_item.added", output_index: index, item: { ...item, ...begun } }),
      ...events.map((each) => sse({ ...each, output_index: index })),
      sse({ type: "response.output_item.done", output_index: index, item: { ...item, ...done } }),
    ]),
    sse({ type, response: { ...RESPONSE, ...outcome, usage: USAGE } }),
  ];
}

export const openai: Wire = {
  ...{ model: "openai:gpt-5", secret: "OPENAI_API_KEY", package: "@ai-sdk/openai" },
  streamType: "text/event-stream",
  counts: { tokensIn: 100, tokensOut: 30, cacheRead: 70, reasoning: 12 },
  whole: (said) =>
    JSON.stringify({
      ...{ ...RESPONSE, ...incomplete(said), usage: USAGE },
      output: itemsOf(said).map(({ item, done }) => ({ ...item, ...done })),
    }),
  stream: streamed,
  endFrames: 2,
  isStream: (_, body) => body["stream"] === true,
  refusal: (status, message) =>
    JSON.stringify({
      error: { message, type: "error", param: null, code: status === 429 ? "rate_limit_exceeded" : null },
    }),
  overloaded: (message) =>
    sse({ type: "error", sequence_number: 9, error: { type: "server_error", code: "server_error", message } }),
  unreadable: "arguments",
  malformedCall: () => streamed({ calls: [{ id: "call_1", tool: "search", args: ['{"city":'] }] }),
  authorized: ["authorization", (key) => `Bearer ${key}`],
};
