/**
 * Converts a model's response to the parts of a reply. The response crosses the trust boundary here: sizes are bounded,
 * arguments are parsed, and token counts are made whole numbers.
 */
import type { LanguageModelV4Content } from "@ai-sdk/provider";
import { asJson, bounded } from "../codec/value.ts";
import type { TokenCounts } from "../core/policy/price.ts";
import type { FileContent } from "../core/file.ts";
import { fileContent, wrongWithFiles } from "../codec/file.ts";
import { isName } from "../core/ids.ts";
import { hasText } from "../core/message.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "../codec/limits.ts";
import type { ModelFailed, ModelReply, RepliedPart } from "../ports/model.ts";
import { parseArguments } from "../codec/arguments.ts";
import { type ProviderReply, type Expected, isWhole, replyEndOf } from "./reply-end.ts";

export function replyOf(answer: ProviderReply, expected: Expected): ModelReply | ModelFailed {
  const { content, finishReason } = answer;
  const spent = countTokens(answer, expected);
  const end = replyEndOf(answer);
  if (end === "cut" || (end === "unknown" && !isWhole(answer, expected))) return cutReply(answer, expected);
  if (end !== "ended" && end !== "unknown") return stoppedBy(end, { ...answer, spent });
  const bytes = content.reduce((sum, part) => sum + bytesOf(part), 0);
  if (bytes > SIZES.replyBytesMax) {
    return tooLarge(`your reply has ${bytes} bytes; at most ${SIZES.replyBytesMax} are accepted`, spent);
  }
  const parts = content.flatMap(partsOf);
  const calls = parts.filter((part) => part.kind === "call" || part.kind === "badCall").length;
  if (calls > SIZES.callsPerReplyMax) {
    return tooLarge(`you requested ${calls} calls at once; at most ${SIZES.callsPerReplyMax} are accepted`, spent);
  }
  const why = wrongWithFiles(parts.flatMap((part) => (part.kind === "file" ? [part.content] : [])));
  if (why !== null) return tooLarge(`your reply has ${why}`, spent);
  return {
    kind: "reply",
    parts,
    finish: finishReason.unified,
    ...spent,
  };
}

/**
 * A reply that a limit cut. Its calls are dropped, whole ones too: the model may have wanted to say more about them. The
 * text stays, so that the model can go on with it, unless it was to be an object.
 */
function cutReply(answer: ProviderReply, expected: Expected): ModelFailed {
  const { content, finishReason } = answer;
  const { isObject } = expected;
  const spent = countTokens(answer, expected);
  const limit = bounded(finishReason.raw ?? finishReason.unified, LIMIT_CHARACTERS).toWellFormed();
  const calls = content.filter(({ type }) => type === "tool-call").length;
  const texts = calls > 0 || isObject ? [] : content.flatMap((part) => (part.type === "text" ? partsOf(part) : []));
  const kept = texts.filter((part) => part.kind === "text");
  const bytes = kept.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  const parts = bytes <= SIZES.replyBytesMax && kept.some(({ text }) => hasText(text)) ? kept : [];
  return {
    ...unusable("ReplyCut", `a limit of tokens cut it after ${spent.tokensOut} tokens (${limit})`, spent),
    cut: { limit, calls, parts },
  };
}

/** How much of the word for a limit is kept. */
const LIMIT_CHARACTERS = 64;

/**
 * The failure of a reply that its provider withheld, broke off or could not read. What there is of it is no answer and
 * plans no call.
 */
function stoppedBy(
  end: "failed" | "withheld" | "malformed",
  { content, finishReason, spent }: Pick<ProviderReply, "content" | "finishReason"> & { readonly spent: TokenCounts },
): ModelFailed {
  const { unified, raw = unified } = finishReason;
  if (end === "malformed") {
    const message = `the provider could not read a tool call in it (${raw}): name a tool, and give its arguments as JSON`;
    return unusable("ReplyMalformed", message, spent);
  }
  if (end === "withheld") {
    const words = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
    const said = words.trim() === "" ? "" : `; it began: ${bounded(words, FILTERED_CHARACTERS).toWellFormed()}`;
    return unusable("ReplyFiltered", `a filter stopped it, or you refused (${raw})${said}`, spent);
  }
  const failure = { code: "ModelFailed", message: `the provider stopped the reply because of an error (${raw})` };
  return { kind: "failed", failure, retryable: true, retryAfterMs: null, isPartial: true };
}

/** How much of a withheld reply an operator sees. */
const FILTERED_CHARACTERS = 200;

/**
 * The counts of the provider. A part that it does not report, or that is empty, is absent. No reply with content takes 0
 * tokens, so a provider that says so has not counted it: no limit of money or tokens could stop such a run.
 */
function countTokens({ usage, content }: ProviderReply, { isScripted = false }: Expected): TokenCounts {
  const { inputTokens, outputTokens } = usage;
  const [read, write] = [countOf(inputTokens.cacheRead), countOf(inputTokens.cacheWrite)];
  const reasoning = countOf(outputTokens.reasoning);
  const [tokensIn, tokensOut] = [countOf(inputTokens.total), countOf(outputTokens.total)];
  const isUnreported = inputTokens.total === undefined && outputTokens.total === undefined;
  const isImpossible = tokensIn + tokensOut === 0 && content.length > 0 && !isScripted;
  return {
    tokensIn,
    tokensOut,
    ...(read > 0 && { cacheRead: read }),
    ...(write > 0 && { cacheWrite: write }),
    ...(reasoning > 0 && { reasoning }),
    ...((isUnreported || isImpossible) && { isUncounted: true as const }),
  };
}

/** A file that the model made. One that is only a link, or cannot be kept, is dropped. */
function fileOf({ data, mediaType }: Extract<LanguageModelV4Content, { type: "file" }>): FileContent | null {
  if (data.type !== "data") return null;
  const bytes = typeof data.data === "string" ? Buffer.from(data.data, "base64") : data.data;
  const parsed = fileContent({ bytes, mediaType, name: `made.${mediaType.split("/")[1] ?? "bin"}` });
  return parsed.ok ? parsed.content : null;
}

/** Drops sources and calls that the provider executed itself: no tool of the agent is involved. */
function partsOf(part: LanguageModelV4Content): readonly RepliedPart[] {
  switch (part.type) {
    case "text":
      return [{ kind: "text", text: part.text.toWellFormed() }];
    case "reasoning":
      return [{ kind: "reasoning", text: part.text.toWellFormed(), provider: providerOf(part.providerMetadata) }];
    case "file": {
      const content = fileOf(part);
      return content === null ? [] : [{ kind: "file", content }];
    }
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

/** A tool name that every provider accepts: a provider refuses transcripts with other names, even its model's own. */
const playable = (tool: string): string =>
  tool.slice(0, SIZES.toolCharactersMax).replace(/[^a-zA-Z0-9_-]/g, "_") || "unnamed";

/** Metadata that is not JSON is dropped: a provider accepts its metadata only unchanged. */
function providerOf(metadata: unknown): Json {
  const parsed = asJson(metadata);
  return parsed.ok ? parsed.json : null;
}

function bytesOf(part: LanguageModelV4Content): number {
  const text = part.type === "tool-call" ? part.input : "text" in part ? part.text : "";
  const metadata = "providerMetadata" in part ? JSON.stringify(providerOf(part.providerMetadata)) : "";
  return Buffer.byteLength(text) + Buffer.byteLength(metadata);
}

/** No reply costs that many tokens. A wrong number from a provider must not make a sum exceed the safe integers. */
const TOKENS_MAX = 1e9;

const countOf = (tokens = 0): number => (tokens > 0 ? Math.min(Math.ceil(tokens), TOKENS_MAX) : 0);

const tooLarge = (message: string, spent: TokenCounts): ModelFailed => unusable("ReplyTooLarge", message, spent);

/** A reply that was paid for and cannot be used. The model is told why. */
const unusable = (code: string, message: string, spent: TokenCounts): ModelFailed => ({
  kind: "failed",
  failure: { code, message },
  retryable: false,
  retryAfterMs: null,
  spent,
});
