/** OpenAI's Chat Completions, as vLLM, llama.cpp and Ollama speak it. A stream reports its usage only if it is asked to. */
import { type Frame, type Said, type SentBody, type Wire, sse } from "./wire.ts";

const USAGE = {
  ...{ prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 70 } },
  ...{ completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 12 }, total_tokens: 130 },
};

const OF = { id: "chatcmpl-1", created: 1_700_000_000, model: "m" };

const reasonOf = ({ calls = [], end, word }: Said): string | null => {
  if (word !== undefined) return word;
  if (end !== undefined) return end === "length" ? "length" : "content_filter";
  return calls.length > 0 ? "tool_calls" : "stop";
};

/** Servers that stand before Gemini give the signature of a call in this field. */
const SIGNED = { extra_content: { google: { thought_signature: "signed" } } };

const chunk = (delta: object, finish: string | null = null): Frame =>
  sse({ ...OF, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });

const asksForUsage = (body?: SentBody): boolean =>
  (body?.["stream_options"] as { readonly include_usage?: unknown } | undefined)?.include_usage === true;

const streamed = (said: Said, body?: SentBody): readonly Frame[] => {
  const { reasoning, text = [], calls = [] } = said;
  return [
    ...(reasoning === undefined ? [] : [chunk({ role: "assistant", reasoning_content: reasoning })]),
    ...text.map((content) => chunk({ content })),
    ...calls.flatMap(({ id, tool, args: [first = "", ...rest] }, index) => [
      chunk({ tool_calls: [{ index, id, type: "function", function: { name: tool, arguments: first }, ...SIGNED }] }),
      ...rest.map((piece) => chunk({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    chunk({}, reasonOf(said)),
    ...(asksForUsage(body) ? [sse({ ...OF, object: "chat.completion.chunk", choices: [], usage: USAGE })] : []),
    "data: [DONE]\n\n",
  ];
};

export const openaiCompatible: Wire = {
  ...{ model: "openai-compatible:http://127.0.0.1:9/v1#m", secret: "OPENAI_COMPATIBLE_API_KEY" },
  package: "@ai-sdk/openai-compatible",
  streamType: "text/event-stream",
  counts: { tokensIn: 100, tokensOut: 30, cacheRead: 70, reasoning: 12 },
  whole: (said) => {
    const { reasoning, text, calls = [] } = said;
    const called = calls.map(({ id, tool, args }) => ({
      ...{ id, type: "function", function: { name: tool, arguments: args.join("") }, ...SIGNED },
    }));
    const message = {
      ...{ role: "assistant", content: text?.join("") ?? null },
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(called.length === 0 ? {} : { tool_calls: called }),
    };
    const choices = [{ index: 0, message, finish_reason: reasonOf(said) }];
    return JSON.stringify({ ...OF, object: "chat.completion", choices, usage: USAGE });
  },
  stream: streamed,
  endFrames: 2,
  isStream: (_, body) => body["stream"] === true,
  refusal: (_, message) => JSON.stringify({ error: { message, type: "error", param: null, code: null } }),
  overloaded: (message) => sse({ error: { message, type: "server_error", code: 503 } }),
  unreadable: "arguments",
  malformedCall: () => streamed({ calls: [{ id: "call_1", tool: "search", args: ['{"city":'] }] }),
  authorized: ["authorization", (key) => `Bearer ${key}`],
};
