/**
 * How a reply ended, by the words of its provider. A reply that was cut plans nothing: half of a call may be a whole call
 * to another end. So a call counts only where its provider says that the reply ended, or where all of it is there.
 *
 * The words are those that OpenAI, Anthropic, Gemini, Bedrock, Cohere, DeepSeek, Mistral, Z.ai, Ollama, vLLM, SGLang and
 * TGI are publicly known to use (2026-11). docs/models.md has the table.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { isJson } from "../codec/json-numbers.ts";
import type { Json } from "../core/json.ts";

export type ProviderReply = LanguageModelV4GenerateResult;

/**
 * `ended`: it is whole. `cut`: a limit ended it. `failed`: an error ended it. `withheld`: a filter stopped it, or the
 * model refused. `malformed`: a call in it cannot be read. `unknown`: its provider uses a word of its own, or none.
 */
export type ReplyEnd = "ended" | "cut" | "failed" | "withheld" | "malformed" | "unknown";

/** The words of providers, in lower case with `_` between them. The first pattern that fits counts. */
const WORDS: readonly (readonly [ReplyEnd, RegExp])[] = [
  ["malformed", /^(malformed|unexpected_tool_call|invalid_tool|too_many_tool_calls|missing_thought_signature)/],
  ["withheld", /filter|safety|refus|sensitive|recitation|blocklist|prohibited|^spii$|guardrail|toxic|policy|moderat/],
  [
    "failed",
    /error|fail|abort|cancel|time_?d?_?out|interrupt|insufficient|overload|unavailable|rate_limit|network|unload|^load$/,
  ],
  ["cut", /(^|_)(max|length|limit|limits|truncat\w*|incomplete|context|pause|budget|exhausted|compaction)(_|$)/],
];

/** What the AI SDK makes of the words. */
const UNIFIED: { readonly [unified: string]: ReplyEnd } = {
  stop: "ended",
  "tool-calls": "ended",
  length: "cut",
  "content-filter": "withheld",
  error: "failed",
};

/** From the worst to the best. A provider's package may take a bad word for a good one, and the other way round. */
const ORDER: readonly ReplyEnd[] = ["malformed", "withheld", "failed", "cut", "unknown", "ended"];

export function replyEndOf({ finishReason: { unified, raw }, response }: ProviderReply): ReplyEnd {
  const word = wordIn(raw);
  const ends = new Set<ReplyEnd>([
    UNIFIED[unified] ?? "unknown",
    WORDS.find(([, pattern]) => pattern.test(word))?.[0] ?? "ended",
    isIncomplete(response?.body) ? "cut" : "ended",
  ]);
  return ORDER.find((end) => ends.has(end)) ?? "unknown";
}

const wordIn = (raw = ""): string =>
  raw
    .replace(/([a-z])([A-Z])/g, "$1_$2")
    .replace(/[^a-zA-Z0-9]+/g, "_")
    .toLowerCase();

/** The Responses API may give the status `incomplete` without a reason, and then the AI SDK says `stop`. */
const isIncomplete = (body: unknown): boolean =>
  typeof body === "object" && body !== null && (body as { status?: unknown }).status === "incomplete";

/** What the request asked for, as far as it says whether a reply is whole. */
export interface Expected {
  /** The tools that were offered, as they were described to the model. */
  readonly tools: readonly { readonly name: string; readonly inputSchema: unknown }[];
  /** The limit of the reply in tokens that the agent set. */
  readonly maxOutputTokens: number | undefined;
  /** The answer has to be an object, not text. */
  readonly isObject: boolean;
  /** Its author wrote what it takes, also if that is nothing. */
  readonly isScripted?: boolean;
}

export const expectedBy = ({ tools = [], maxOutputTokens, responseFormat }: LanguageModelV4CallOptions): Expected => ({
  tools: tools.flatMap((each) => (each.type === "function" ? [each] : [])),
  maxOutputTokens,
  isObject: responseFormat?.type === "json",
});

/**
 * Whether a reply with an unknown end is whole: each call has complete JSON, and the reply is shorter than its limit,
 * where one is known. Empty text is complete only for a tool without properties.
 */
export function isWhole({ content, usage, request }: ProviderReply, { tools, maxOutputTokens }: Expected): boolean {
  const limit = maxOutputTokens ?? limitIn(request?.body);
  const said = usage.outputTokens.total;
  if (limit !== null && said !== undefined && said >= limit) return false;
  return content.every((part) => {
    if (part.type !== "tool-call" || part.providerExecuted === true) return true;
    if (part.input.trim() !== "") return isJson(part.input);
    const schema = tools.find(({ name }) => name === part.toolName)?.inputSchema;
    return schema !== undefined && hasNoProperties(schema);
  });
}

const hasNoProperties = (schema: unknown): boolean =>
  Object.keys((schema as { readonly properties?: object }).properties ?? {}).length === 0;

/** The fields in which providers take the limit of a reply in tokens. */
const LIMITS: readonly (readonly string[])[] = [
  ["max_completion_tokens"],
  ["max_output_tokens"],
  ["max_tokens"],
  ["generationConfig", "maxOutputTokens"],
  ["inferenceConfig", "maxTokens"],
];

/** The limit in the body of a request, as a provider's package wrote it; null: it has none. */
function limitIn(body: unknown): number | null {
  const parsed: unknown = typeof body === "string" && isJson(body) ? JSON.parse(body) : body;
  const found = LIMITS.map((path) =>
    path.reduce<unknown>((at, name) => (at as { [name: string]: Json })?.[name], parsed),
  );
  return found.find((each) => typeof each === "number") ?? null;
}
