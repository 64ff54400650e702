/**
 * One request to the API, sent again where that is safe. It uses nothing but `fetch`, so it works in Node, Bun, Deno and
 * browsers.
 */
import { CairnError } from "./errors.ts";

/** Sends a request: `fetch`, or an API in this process. */
export type Send = (request: Request) => Promise<Response>;

export interface Endpoint {
  /** The URL of the API, such as `http://127.0.0.1:7420` or `https://ID.execute-api.REGION.amazonaws.com/prod`. */
  readonly url: string;
  readonly send: Send;
  readonly headers: () => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
}

export interface Asking {
  readonly method: "get" | "post" | "delete";
  /** Below the URL of the API, with its parameters filled in. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** The answer is taken as bytes, and a redirect to them is followed. */
  readonly bytes?: true;
  /** Whether the same request twice has the effect of one: it is then sent again if no answer comes. */
  readonly repeatable: boolean;
}

const TRIES_MAX = 5;
const PAUSE_MS = 200;
const PAUSE_MS_MAX = 5_000;
/** The answers of a server, or of what stands before it, that could not handle the request. */
const BUSY = new Set([429, 502, 503, 504]);

/** The document of the answer, or its bytes. Throws a `CairnError` for an answer that is a problem, and where no answer comes. */
export async function ask(endpoint: Endpoint, asking: Asking): Promise<unknown> {
  for (let tried = 1; ; tried += 1) {
    const answer = await sentOnce(endpoint, asking);
    const isLast = !asking.repeatable || tried === TRIES_MAX;
    if (answer instanceof CairnError) {
      if (isLast) throw answer;
    } else if (answer.ok && answer.document !== null) return answer.document;
    else if (isLast || !BUSY.has(answer.status)) throw problemIn(answer);
    const asked = answer instanceof CairnError ? 0 : answer.retryAfterMs;
    const pause = PAUSE_MS * 2 ** (tried - 1) * (0.5 + Math.random());
    await elapse(Math.min(PAUSE_MS_MAX, Math.max(pause, asked)), asking.signal);
  }
}

interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly retryAfterMs: number;
  /** Null where the body is no JSON. */
  readonly document: unknown;
}

/** The whole answer, or the error that none came. */
async function sentOnce({ url, send, headers }: Endpoint, asking: Asking): Promise<Answer | CairnError> {
  const { signal } = asking;
  const request = requestTo(url, asking, await headers());
  try {
    const response = await followed(await send(request), { request, send, asking });
    const { ok, status } = response;
    if (ok && asking.bytes) {
      return { ok, status, retryAfterMs: 0, document: new Uint8Array(await response.arrayBuffer()) };
    }
    const text = await response.text();
    return {
      ok,
      status,
      retryAfterMs: Number(response.headers.get("retry-after") ?? 0) * 1_000 || 0,
      document: jsonIn(text),
    };
  } catch (cause) {
    signal?.throwIfAborted();
    const { origin } = new URL(request.url);
    const message = `${origin} does not answer: it is not known whether the request arrived`;
    return new CairnError(message, { code: "Unreachable", status: null, cause });
  }
}

export const unsendable = (why: string): CairnError =>
  new CairnError(`the request cannot be sent: ${why}`, { code: "Unsendable", status: null });

/** Throws a `CairnError` without a cause: the errors of the platform repeat the headers, with the access token in them. */
function requestTo(url: string, asking: Asking, headers: Readonly<Record<string, string>>): Request {
  const { method, path, query = {}, body, signal } = asking;
  try {
    const target = new URL(`${url.replace(/\/+$/, "")}${path}`);
    for (const [name, value] of Object.entries(query)) {
      for (const each of [value ?? []].flat()) target.searchParams.append(name, String(each));
    }
    return new Request(target, {
      method: method.toUpperCase(),
      headers: {
        ...headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...asking.headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      ...(asking.bytes === true && { redirect: "manual" }),
    });
  } catch {
    throw unsendable("its URL or a header is invalid");
  }
}

/** The answer at the address that an answer names. The credentials of this request are not for that server. */
async function followed(
  response: Response,
  { request, send, asking: { signal } }: { readonly request: Request; readonly send: Send; readonly asking: Asking },
): Promise<Response> {
  // A browser shows no address, and follows without credentials itself.
  if (response.type === "opaqueredirect") return send(new Request(request, { redirect: "follow" }));
  const location = response.status === 303 ? response.headers.get("location") : null;
  return location === null ? response : fetch(location, signal ? { signal } : {});
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function problemIn({ status, document }: Answer): CairnError {
  const facts = (document ?? {}) as Readonly<Record<string, unknown>>;
  const { code, detail } = facts;
  if (typeof code === "string" && typeof detail === "string") return new CairnError(detail, { code, status, facts });
  return new CairnError(`the server answered ${status} with nothing that cairn knows`, {
    code: "Unexplained",
    status,
    facts,
  });
}

/** Waits. Rejects when the signal fires. */
function elapse(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}
