/**
 * The wire format of a provider, taken from its AI SDK package. The package writes the body of a request and reads the
 * reply; what lies between, cairn sends itself: as a background response, or as a line of a batch. So an asynchronous
 * call has the same prompt, tools and settings as any other, and its reply is read by the same code.
 */
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4GenerateResult,
} from "@ai-sdk/provider";
import type { Json } from "../core/json.ts";

type Fetch = typeof globalThis.fetch;

/** Makes the provider's model over this `fetch`. */
export type OpenModel = (fetch: Fetch) => LanguageModelV4;

export interface WireRequest {
  readonly url: string;
  /** With the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly [name: string]: Json };
}

/** The request that the package would send. Nothing leaves. */
export async function wireRequest(open: OpenModel, options: LanguageModelV4CallOptions): Promise<WireRequest> {
  const seen: { request?: WireRequest } = {};
  const model = open(async (input, init) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    const url = input instanceof Request ? input.url : String(input);
    seen.request = {
      url,
      headers,
      body: JSON.parse(typeof init?.body === "string" ? init.body : "") as WireRequest["body"],
    };
    throw new Error("the request was only written");
  });
  try {
    await model.doGenerate(options);
  } catch (error) {
    if (seen.request === undefined) throw error;
  }
  if (seen.request === undefined) throw new Error("the package of the provider sent no request");
  return seen.request;
}

/** The result as the package reads it from this body of a response. */
export async function readResponse(
  open: OpenModel,
  options: LanguageModelV4CallOptions,
  body: unknown,
): Promise<LanguageModelV4GenerateResult> {
  const headers = { "content-type": "application/json" };
  return open(async () => new Response(JSON.stringify(body), { headers })).doGenerate(options);
}

/** How a request about a job differs from the one that the package wrote. */
interface Change {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly body?: Json | FormData;
  /** An idempotency key. */
  readonly key?: string;
  readonly signal: AbortSignal | undefined;
}

/** Sends a request with the headers of the one that the package wrote. Throws `APICallError` for any other status. */
export async function sendToProvider({ headers }: Pick<WireRequest, "headers">, change: Change): Promise<string> {
  const { method, url, body, key, signal } = change;
  const isForm = body instanceof FormData;
  const { "content-type": type, "content-length": _, ...kept } = headers;
  const response = await fetch(url, {
    method,
    headers: {
      ...kept,
      ...(body === undefined || isForm || type === undefined ? {} : { "content-type": type }),
      ...(key === undefined ? {} : { "idempotency-key": key }),
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  if (response.ok) return text;
  throw refusal(text, { url, status: response.status, headers: Object.fromEntries(response.headers) });
}

/** The error that a provider reports in this text of a response. */
export function refusal(
  text: string,
  {
    url,
    status,
    headers = {},
  }: { readonly url: string; readonly status: number; readonly headers?: Record<string, string> },
): APICallError {
  const report = parsed(text);
  const said = (report as { error?: { message?: unknown } } | null)?.error?.message;
  return new APICallError({
    message: typeof said === "string" ? said : "the provider gave no reason",
    url,
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: headers,
    responseBody: text,
    ...(typeof said === "string" ? { data: report } : {}),
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
