/**
 * Why a model gave no reply, and whether asking again makes sense. The message ends up in events and on screens for
 * ever, so it is bounded and what looks like a credential is taken out before anyone sees it.
 */
import { APICallError, EmptyResponseBodyError, InvalidResponseDataError } from "@ai-sdk/provider";
import { bounded } from "../codec/value.ts";
import { TIMES } from "../protocol/limits.ts";
import type { ModelFailed } from "../ports/model.ts";

/**
 * `secret`: the key that the model is asked with, which a provider may echo; empty when there is none. Never throws: an
 * error whose fields throw when they are read says nothing of the question, and asking again may not help.
 */
export function failedBy(error: unknown, secret: string): ModelFailed {
  try {
    return readFailure(error, secret);
  } catch {
    const failure = { code: "ModelFailed", message: "the model threw something that cannot be read" };
    return { kind: "failed", failure, retryable: false, retryAfterMs: null };
  }
}

function readFailure(error: unknown, secret: string): ModelFailed {
  const said = saidBy(error);
  const message = bounded(withoutCredentials(said, secret)).toWellFormed();
  const failed = (code: string, retryable: boolean, retryAfterMs: number | null = null): ModelFailed => ({
    kind: "failed",
    failure: { code, message },
    retryable,
    retryAfterMs,
  });
  if (!APICallError.isInstance(error)) return failed("ModelFailed", isUnreadable(error) || isNetwork(error));
  const status = error.statusCode ?? 0;
  // A throttle speaks of tokens too ("request too large for your tokens per minute"), but time heals it.
  if (status !== 429 && CONTEXT.test(said)) return failed("ContextTooLong", false);
  if (error.isRetryable || RETRYABLE.has(status) || status >= 500) {
    return failed("ModelFailed", true, retryAfterMs(error.responseHeaders ?? {}));
  }
  if (status >= 400) return failed("ModelRefused", false);
  // What is left is an answer that nobody can read: cut off, or a proxy's page. It says nothing about the question.
  return failed("ModelFailed", true);
}

/** Request timeout, conflict, throttled. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 409, 429]);

/** OpenAI, Anthropic, Bedrock, Gemini, vLLM and llama.cpp, each in its own words. */
const CONTEXT =
  /context_length_exceeded|exceed_context_size|(maximum|available) (context|prompt) (length|size|window)|context (length|size|window) (is )?exceeded|exceeds? (the |your |its )?(model'?s? )?context|prompt is too long|input is too long|input token count .{0,40}exceeds/i;

/** Shown of an answer whose shape is unknown. */
const ANSWER_CHARACTERS = 500;

function saidBy(error: unknown): string {
  if (!APICallError.isInstance(error))
    return error instanceof Error ? String(error.message || error.name) : String(error);
  const { statusCode, message, data, responseBody = "" } = error;
  const status = statusCode === undefined ? [] : [`HTTP ${statusCode}`];
  const words = message === "" ? [] : [message];
  const code = codeOf(data);
  // Without a parsed answer the message is only the status line; the body may say more.
  const body =
    data === undefined && responseBody.trim() !== "" ? [responseBody.trim().slice(0, ANSWER_CHARACTERS)] : [];
  return [...status, ...words, ...code, ...body].join(": ");
}

/** `{ error: { code } }`, where OpenAI and its kin put a stable name. */
function codeOf(answer: unknown): readonly string[] {
  const error = (answer as { error?: { code?: unknown } } | null | undefined)?.error;
  return typeof error?.code === "string" ? [error.code] : [];
}

const isUnreadable = (error: unknown): boolean =>
  InvalidResponseDataError.isInstance(error) || EmptyResponseBodyError.isInstance(error);

const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOST|ENET|UND_ERR_)/;

/** For model objects that do not wrap what `fetch` throws. A timeout of the provider's own is one of these. */
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
 * `retry-after-ms`, or `retry-after` in seconds or as a date. A date is read against the answer's own `date`: two times
 * of one clock, where ours could differ.
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
/** Shorter keys are placeholders for servers that want none (`none`, `ollama`), and ordinary words. */
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
