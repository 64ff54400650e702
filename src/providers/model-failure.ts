/**
 * Classifies why a model call failed and whether a retry makes sense. The message stays in events and on screens, so it
 * is bounded, and text that looks like a credential is removed first.
 */
import {
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import type { FileRef } from "../core/file.ts";
import { bounded } from "../codec/value.ts";
import { TIMES } from "../protocol/limits.ts";
import type { ModelFailed, Refusal } from "../ports/model.ts";
import { ModelNotReady } from "../ports/named-models.ts";
import { reportedError, errorWords } from "./reported-error.ts";

/**
 * The failure that a thrown error stands for. Never throws: an error whose fields throw is a failure without retry.
 * `secret` is the API key of the request, which a provider may echo; empty if there is none. `files`: those of the
 * request.
 */
export function failedBy(error: unknown, secret: string, files: readonly FileRef[] = []): ModelFailed {
  try {
    return blamedOnFiles(error, readFailure(error, secret), files);
  } catch {
    const failure = { code: "ModelFailed", message: "the model threw an error that cannot be read" };
    return { kind: "failed", failure, retryable: false, retryAfterMs: null };
  }
}

/** A refused request with files names them: a model may not accept their media type. */
function blamedOnFiles(error: unknown, failed: ModelFailed, files: readonly FileRef[]): ModelFailed {
  const { code, message } = failed.failure;
  if (files.length === 0 || failed.retryable || code === "ContextTooLong") return failed;
  const some = files.slice(-FILES_NAMED_MAX).map(({ name, mediaType }) => `${name} (${mediaType})`);
  const own = UnsupportedFunctionalityError.isInstance(error) ? "FileUnsupported" : code;
  const advice = "a model may not accept such files: choose one that does, or give it their content as text";
  return {
    ...failed,
    failure: { code: own, message: bounded(`${message}; the request holds ${some.join(", ")}: ${advice}`) },
  };
}

const FILES_NAMED_MAX = 4;

function readFailure(error: unknown, secret: string): ModelFailed {
  const said = errorWords(error);
  const message = bounded(withoutCredentials(said, secret)).toWellFormed();
  const failed = (code: string, retryable: boolean, retryAfterMs: number | null = null): ModelFailed => ({
    kind: "failed",
    failure: { code, message },
    retryable,
    retryAfterMs,
  });
  const refused = (code: string, refusal: Refusal): ModelFailed => ({ ...failed(code, false), refusal });
  if (error instanceof ModelNotReady) return failed(error.code, true);
  if (isUnconfigured(error)) return failed("ModelNotConfigured", true);
  const reported = reportedError(error);
  if (UnsupportedFunctionalityError.isInstance(error)) return refused("ModelRefused", "request");
  if (reported === null) return failed("ModelFailed", isUnreadable(error) || isNetwork(error));
  const { status, code, isRetryable, headers } = reported;
  const wait = retryAfterMs(headers);
  const tokensOver = tokensAbove(said);
  if (tokensOver > 0) return { ...refused("ContextTooLong", "request"), tokensOver };
  // A throttling error mentions tokens too ("request too large for your tokens per minute"), but a retry helps.
  if (status !== 429 && CONTEXT.test(said)) return refused("ContextTooLong", "request");
  if (status === TOO_LARGE && wait === null) return refused("ContextTooLong", "request");
  const isThrottled = status === TOO_LARGE || (status === 429 && wait !== null);
  if (!isThrottled && (NO_ACCESS.test(code ?? "") || NO_CREDIT.test(said))) return refused("ModelRefused", "access");
  if (!isThrottled && status < 400 && REFUSED.test(code ?? "")) return refused("ModelRefused", "request");
  if (isThrottled || isRetryable || RETRYABLE.has(status) || status >= 500) return failed("ModelFailed", true, wait);
  if (status >= 400) return refused("ModelRefused", status <= NOT_FOUND && status !== 400 ? "access" : "request");
  // What remains is an unreadable response: truncated, or a proxy's error page. It says nothing about the request.
  return failed("ModelFailed", true);
}

/** Request timeout, conflict, an error of the model itself (Bedrock's `ModelErrorException`), too many requests. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 424, 429]);

const NOT_FOUND = 404;
const TOO_LARGE = 413;

/**
 * How providers and gateways are publicly known to say that the context is too long (2026-11): OpenAI, Anthropic, Bedrock, Gemini, vLLM, SGLang,
 * llama.cpp, Ollama, LM Studio, Kimi, GLM, MiniMax, DashScope, Copilot, Together, Mistral, Cohere, xAI, nginx.
 */
const CONTEXT = new RegExp(
  [
    "context_length_exceeded|exceed_context_size|context_window_exceeded|request_too_large",
    "model_max_prompt_tokens_exceeded|max_prompt_tokens|request entity too large|payload too large|input_too_long",
    "maximum model length|token length too long|input.{0,20}tokens.{0,40}must be <=|input token count .{0,40}only supports",
    "(maximum|max|available|allowed|model'?s?) (allowed )?(context|prompt|input|sequence)[ _]?(tokens?|length|size|window|limit)",
    "(context|prompt|input|sequence)[ _]?(tokens?|length|size|window|limit)? (is |was |has been |limit )?(exceed|over|above|too l)",
    "(exceed|exceeds|exceeded|exceeding|overflows?|larger than|longer than|greater than|beyond|over) (the |your |its |this |max\\w* |a )*(model'?s? |maximum |allowed |available )*(context|prompt|input|sequence|token limit|number of tokens)",
    "(prompt|input|request|messages?|conversation|history|text)( is| are| was)? too (long|large|big|many tokens)",
    "too many (input |prompt )?tokens|tokens? (count|limit|number).{0,40}(exceed|too)|token count .{0,40}exceed",
    "range of input length should be|context window exceeds limit|reduce the (length|number) of (the )?(messages|tokens|prompt|input)",
    "greater than the context length|tokens to keep from the initial prompt|cannot truncate prompt|trying to keep the first",
    "输入.{0,12}(过长|超|长)|上下文.{0,12}(过长|超|长)|超出.{0,12}(长度|上下文)|prompt 超长",
  ].join("|"),
  "i",
);

/**
 * How much more was asked for than the limit, by the pair in which Groq and OpenAI say so; 0: nothing is known. A request
 * above its limit is never allowed, however long one waits.
 */
function tokensAbove(said: string): number {
  const [, limit, requested] = /\blimit:? ([\d,]+)(?:,? used:? [\d,]+)?,? requested:? ([\d,]+)/i.exec(said) ?? [];
  const count = (digits = "0"): number => Number(digits.replaceAll(",", ""));
  return requested === undefined ? 0 : Math.max(0, count(requested) - count(limit));
}

/** Codes of a refusal that another key, more credit or another model ends, and nothing else. */
const NO_ACCESS =
  /^(invalid_api_key|invalid_authentication\w*|authentication_error|unauthorized|unauthenticated|permission_(error|denied)|insufficient_quota|billing\w*|insufficient_(credits?|balance|funds)|account_\w*|arrearage|model_not_found|not_found_error|invalid_model|model_not_\w+|model_\w*(deprecated|retired|decommissioned)|deployment_?not_?found)$/i;
/** Providers that have no code for it. */
const NO_CREDIT = /credit balance is too low|insufficient (balance|credits?|funds)|(payment|billing) (is )?required/i;
/** Codes of a refused request within a response with status 200. */
const REFUSED =
  /^(invalid_request\w*|invalid_argument|unsupported_\w+|bad_request|validation_error|unprocessable\w*)$/i;

/**
 * A provider's package finds no key, no region or no AWS credentials in its process. Another process of the run may have
 * them, and an operator can set them, so the run waits.
 */
const isUnconfigured = (error: unknown): boolean =>
  LoadAPIKeyError.isInstance(error) ||
  LoadSettingError.isInstance(error) ||
  (error instanceof Error && /^AWS (SigV4 authentication requires|credential provider failed)/.test(error.message));

const isUnreadable = (error: unknown): boolean =>
  InvalidResponseDataError.isInstance(error) ||
  EmptyResponseBodyError.isInstance(error) ||
  JSONParseError.isInstance(error) ||
  TypeValidationError.isInstance(error);

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR_)/;

/** Recognizes network errors of model objects that do not wrap errors of `fetch`, including the provider's timeouts. */
function isNetwork(error: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === "string" && NETWORK.test(code)) return true;
    if (current.name === "AbortError" || current.name === "TimeoutError") return true;
    if (current.name === "TypeError" && /^(fetch failed|terminated)$/.test(current.message)) return true;
  }
  return false;
}

/**
 * The wait from `retry-after-ms`, or from `retry-after` in seconds or as a date. A date is compared with the `date` of
 * the response, because both come from the same clock; the local clock may differ.
 */
function retryAfterMs(headers: Readonly<Record<string, string>>): number | null {
  const { "retry-after-ms": ms = "", "retry-after": after = "", date = "" } = headers;
  const waits = [numberOf(ms), numberOf(after) * 1_000, Date.parse(after) - Date.parse(date)];
  const wait = waits.find(Number.isFinite);
  if (wait === undefined) return null;
  return Math.min(Math.max(0, Math.ceil(wait)), TIMES.parkSecondsMax * 1_000);
}

const numberOf = (text: string): number => (/^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN);

const REMOVED = "[removed]";
/** Shorter keys are placeholders for servers without keys (`none`, `ollama`), and may be ordinary words. */
const SECRET_CHARACTERS_MIN = 8;

function withoutCredentials(text: string, secret: string): string {
  const known = secret.length < SECRET_CHARACTERS_MIN ? text : text.replaceAll(secret, REMOVED);
  return known
    .replace(
      /\b(authorization|x-api-key|api-key|api_key)(["']?\s*[:=]\s*["']?)((bearer|basic)\s+)?[^\s"',}]+/gi,
      `$1$2${REMOVED}`,
    )
    .replace(/\b(bearer)\s+[\w.~+/=-]{8}[\w.~+/=-]*/gi, `$1 ${REMOVED}`)
    .replace(/\b(sk-|gsk_|xai-|hf_|gh[pousr]_|AIza|AKIA|ASIA)[\w*.-]{6}[\w*.-]*/g, REMOVED);
}
