/**
 * What a model answered, as parts that the runner understands. The answer crosses the trust boundary here: sizes are
 * bounded, arguments are parsed, counts of tokens are counts.
 */
import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { asJson } from "../codec/value.ts";
import { isName } from "../core/ids.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { ModelFailed, ModelReply, RepliedPart } from "../ports/model.ts";
import { parseArguments } from "../codec/arguments.ts";

export function replyOf({ content, finishReason, usage }: LanguageModelV4GenerateResult): ModelReply | ModelFailed {
  const spent = { tokensIn: countOf(usage.inputTokens.total), tokensOut: countOf(usage.outputTokens.total) };
  const bytes = content.reduce((sum, part) => sum + bytesOf(part), 0);
  if (bytes > SIZES.replyBytesMax) {
    return tooLarge(`your reply has ${bytes} bytes; ${SIZES.replyBytesMax} are taken at most`, spent);
  }
  const parts = content.flatMap(partsOf);
  const calls = parts.filter((part) => part.kind === "call" || part.kind === "badCall").length;
  if (calls > SIZES.callsPerReplyMax) {
    return tooLarge(`you asked for ${calls} calls at once; ${SIZES.callsPerReplyMax} are taken at most`, spent);
  }
  return {
    kind: "reply",
    parts,
    finish: finishReason.unified,
    ...spent,
  };
}

/** Sources, files and what the provider executed itself have no place in the transcript: no tool of ours asked. */
function partsOf(part: LanguageModelV4Content): readonly RepliedPart[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: part.text.toWellFormed() }];
    case "reasoning":
      return [{ kind: "reasoning", text: part.text.toWellFormed(), provider: providerOf(part.providerMetadata) }];
    case "tool-call":
      return part.providerExecuted === true ? [] : [callOf(part)];
    default:
      return [];
  }
}

function callOf(part: Extract<LanguageModelV4Content, { type: "tool-call" }>): RepliedPart {
  const { toolName: tool, input, providerMetadata } = part;
  const args = parseArguments(input);
  if (!args.ok || !isName(tool)) return { kind: "badCall", tool: playable(tool), raw: input.toWellFormed() };
  return { kind: "call", tool, args: args.json, provider: providerOf(providerMetadata) };
}

/** A provider refuses a transcript with a tool name that it does not like, even one that its model made up. */
const playable = (tool: string): string =>
  tool.slice(0, SIZES.toolCharactersMax).replace(/[^a-zA-Z0-9_-]/g, "_") || "unnamed";

/** Metadata that cannot be kept is left out: a provider takes it back as it gave it, or not at all. */
function providerOf(metadata: unknown): Json {
  const parsed = asJson(metadata);
  return parsed.ok ? parsed.json : null;
}

function bytesOf(part: LanguageModelV4Content): number {
  const text = part.type === "tool-call" ? part.input : "text" in part ? part.text : "";
  const metadata = "providerMetadata" in part ? JSON.stringify(providerOf(part.providerMetadata)) : "";
  return Buffer.byteLength(text) + Buffer.byteLength(metadata);
}

/** No reply costs that many: a provider's wrong number must not make a sum that cannot be kept. */
const TOKENS_MAX = 1e9;

const countOf = (tokens = 0): number => (tokens > 0 ? Math.min(Math.ceil(tokens), TOKENS_MAX) : 0);

const tooLarge = (message: string, spent: NonNullable<ModelFailed["spent"]>): ModelFailed => ({
  kind: "failed",
  failure: { code: "ReplyTooLarge", message },
  retryable: false,
  retryAfterMs: null,
  spent,
});
