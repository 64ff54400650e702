/**
 * One HTTP request, and what its answer says about the effect. A broken connection after the request has left is an
 * unknown outcome; only a connection that was never made is a failure.
 */
import { SIZES } from "../codec/limits.ts";
import { asJson } from "../codec/value.ts";
import { OutcomeUnknown } from "../sdk/outcome.ts";
import { readText } from "../sdk/read-text.ts";

export interface HttpRequest {
  readonly url: string | URL;
  /** Default: POST, and GET for a lookup. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, bytes (also a `Blob`) or a form goes as it is, any other value as JSON, by the rules of results. */
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body if it is JSON, otherwise its text; null if it is empty or too large. */
  readonly body: unknown;
  /** The body has more than 8 MB, the most that a result may have. It was not read to its end. */
  readonly isTooLarge: boolean;
}

/** `done`: the effect happened. `refused`: it did not. `unknown`: the answer does not tell. */
export type Verdict = "done" | "refused" | "unknown";

/** Sends the request. Redirects are answers: a followed one would send the request a second time. */
export async function sendHttp(request: HttpRequest & { readonly signal: AbortSignal }): Promise<HttpAnswer> {
  const { url, method = "POST", signal } = request;
  const [body, type] = bodyOf(request.body);
  const headers = new Headers(request.headers);
  if (type !== null && !headers.has("content-type")) headers.set("content-type", type);
  const asked = new Request(url, { method, headers, redirect: "manual", signal, ...(body === null ? {} : { body }) });
  const { protocol, origin } = new URL(asked.url);
  if (!/^https?:$/.test(protocol))
    throw new TypeError(`${String(url)} is no address of HTTP: write http:// or https://`);
  const where = `${method} ${origin}`;
  try {
    const response = await fetch(asked);
    const { status } = response;
    const text = await readText(response, BODY_BYTES_MAX);
    const body = parsed(response.headers, text ?? "");
    return { status, headers: response.headers, body, isTooLarge: text === null };
  } catch (error) {
    if (wasNeverSent(error)) throw new Error(`${where}: no connection`, { cause: error });
    throw new OutcomeUnknown(`${where} left, and its answer was lost`, { cause: error });
  }
}

function bodyOf(given: unknown): readonly [body: NonNullable<RequestInit["body"]> | null, type: string | null] {
  if (given === undefined || given === null) return [null, null];
  if (typeof given === "string" || AS_IT_IS.some((kind) => given instanceof kind) || ArrayBuffer.isView(given)) {
    return [given as NonNullable<RequestInit["body"]>, null];
  }
  // JSON.stringify would write {} for a map or a stream, and null for NaN, and the service would act on that.
  const json = asJson(given);
  if (!json.ok) throw new TypeError(`the body of the request is not JSON, so nothing was sent: ${json.why}`);
  return [JSON.stringify(json.json), "application/json"];
}

const AS_IT_IS = [ArrayBuffer, Blob, FormData, URLSearchParams];

function parsed(headers: Headers, text: string): unknown {
  if (text === "") return null;
  if (!/[/+]json\b/.test(headers.get("content-type") ?? "")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Failures before the first byte of the request. */
const NEVER_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

function wasNeverSent(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly code?: unknown } };
  return NEVER_SENT.test(String(cause?.code));
}

/**
 * What a status says. A server error and a redirect do not tell. Neither does 409 of a service that honours keys: a
 * request with the same key is still at work.
 */
export function verdictOf(status: number, { honoursKeys }: { readonly honoursKeys: boolean }): Verdict {
  if (status >= 200 && status < 300) return "done";
  const isOpen = status < 400 || status >= 500 || status === 408 || (status === 409 && honoursKeys);
  return isOpen ? "unknown" : "refused";
}

const BODY_BYTES_MAX = SIZES.blobBytesMax;
const BODY_CHARACTERS_MAX = 500;

/** The answer in words, for an error. */
export function reasonOf({ status, body, isTooLarge }: HttpAnswer): string {
  if (isTooLarge) return `the service answered ${status} with more than ${BODY_BYTES_MAX} bytes, which are not shown`;
  const said = typeof body === "string" ? body : JSON.stringify(body);
  return `the service answered ${status}: ${said.slice(0, BODY_CHARACTERS_MAX)}`;
}

/** Throws what an answer that is not `done` means for the call. */
export function throwFor(verdict: Exclude<Verdict, "done">, answer: HttpAnswer): never {
  const why = reasonOf(answer);
  throw verdict === "refused" ? new Error(why) : new OutcomeUnknown(why);
}
