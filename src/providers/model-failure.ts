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
import type { ModelFailed } from "../ports/model.ts";
import { ModelNotReady } from "../ports/named-models.ts";
import { reportedError, wordsOf } from "./reported-error.ts";

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
  const said = wordsOf(error);
  const message = bounded(withoutCredentials(said, secret)).toWellFormed();
  const failed = (code: string, retryable: boolean, retryAfterMs: number | null = null): ModelFailed => ({
    kind: "failed",
    failure: { code, message },
    retryable,
    retryAfterMs,
  });
  if (error instanceof ModelNotReady) return failed(error.code, true);
  if (isUnconfigured(error)) return failed("ModelNotConfigured", true);
  const reported = reportedError(error);
  if (reported === null) return failed("ModelFailed", isUnreadable(error) || isNetwork(error));
  const { status, isRetryable, headers } = reported;
  // A throttling error mentions tokens too ("request too large for your tokens per minute"), but a retry helps.
  if (status !== 429 && CONTEXT.test(said)) return failed("ContextTooLong", false);
  if (isRetryable || RETRYABLE.has(status) || status >= 500) {
    return failed("ModelFailed", true, retryAfterMs(headers));
  }
  if (status >= 400) return failed("ModelRefused", false);
  // What remains is an unreadable response: truncated, or a proxy's error page. It says nothing about the request.
  return failed("ModelFailed", true);
}

/** Request timeout, conflict, an error of the model itself (Bedrock's `ModelErrorException`), too many requests. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 424, 429]);

/** How OpenAI, Anthropic, Bedrock, Gemini, vLLM and llama.cpp say that the context is too long. */
const CONTEXT =
  /context_length_exceeded|exceed_context_size|(maximum|available) (context|prompt) (length|size|window)|context (length|size|window) (is )?exceeded|exceeds? (the |your |its )?(model'?s? )?context|prompt is too long|input is too long|input token count .{0,40}exceeds/i;

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
    .replace(/\b(bearer)\s+[\w.~+/=-]{8,}/gi, `$1 ${REMOVED}`)
    .replace(/\b(sk-|gsk_|xai-|hf_|gh[pousr]_|AIza|AKIA|ASIA)[\w*.-]{6,}/g, REMOVED);
}
