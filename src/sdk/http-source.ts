/**
 * Reads a web page for `memory.fetch`: a GET that names the version which is kept, so that an unchanged page is not sent
 * again. It is bounded in size and time. It asks before each redirect: a page could otherwise lead a tool to an address
 * that the tool would have refused, such as one of the network that it runs in.
 */
import { sentenceOf } from "../codec/value.ts";
import type { AskSource } from "../ports/memory.ts";
import { readText } from "./read-text.ts";

export interface HttpSourceOptions {
  /** They go to the origin of the URL only. After a redirect to another origin no request has them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the source may be read from this URL: the given one, and the target of each redirect. Default: any. */
  readonly allow?: (url: URL) => boolean;
  /** A larger content is an error. Default: 256 KB, which is also the most that a memory keeps. */
  readonly maxBytes?: number;
  /** How long the answer may take, its content included. Default: 20 seconds. */
  readonly timeoutMs?: number;
  /** The signal of the tool's call. */
  readonly signal?: AbortSignal;
}

const BYTES_MAX = 256 * 1024;
const TIMEOUT_MS = 20_000;
/** A server without ETags names the time of the last change: this date is then the version. No ETag begins like it. */
const DATE = /^[A-Z][a-z]{2}, \d{2} /;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const REDIRECTS_MAX = 5;

/**
 * Asks the source over HTTP, by its `ETag` or else its `Last-Modified`.
 *
 * @example
 *   const { content } = await memory.fetch(url, httpSource(url, { signal }));
 */
export function httpSource(url: string | URL, options: HttpSourceOptions = {}): AskSource {
  const { maxBytes = BYTES_MAX, timeoutMs = TIMEOUT_MS, signal, allow = () => true, headers = {} } = options;
  const first = new URL(url);
  const { protocol } = first;
  if (!isHttp(first)) throw new TypeError(`${protocol} is no protocol of a source: write http: or https:`);
  const where = whereOf(first);
  if (!isAllowed(first, allow)) throw new SourceRefused(`${where} is refused by allow`);
  return async (kept) => {
    const version = kept?.etag ?? null;
    const timeout = AbortSignal.timeout(timeoutMs);
    const stop = signal ? AbortSignal.any([signal, timeout]) : timeout;
    try {
      const response = await follow(first, { headers, version, allow, signal: stop });
      if (response.status === 304 && version !== null) return { kind: "unchanged" };
      if (!response.ok) {
        await response.body?.cancel();
        throw new SourceRefused(`${where} answered ${response.status}`);
      }
      const etag = response.headers.get("etag") ?? response.headers.get("last-modified");
      const content = await readText(response, maxBytes);
      if (content === null) throw new SourceRefused(`${where} has more than ${maxBytes} bytes`);
      return { kind: "fetched", etag, content };
    } catch (cause) {
      if (cause instanceof SourceRefused || signal?.aborted === true) throw cause;
      const why = timeout.aborted ? `did not answer within ${timeoutMs} ms` : "cannot be reached";
      throw new Error(`${where} ${why}`, { cause });
    }
  };
}

interface Asked extends Required<Pick<HttpSourceOptions, "headers" | "allow" | "signal">> {
  readonly version: string | null;
}

/** The first answer that is no redirect. */
async function follow(first: URL, { headers, version, allow, signal }: Asked): Promise<Response> {
  let [at, own] = [first, headers];
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const sent = new Headers(own);
    if (version !== null) sent.set(DATE.test(version) ? "if-modified-since" : "if-none-match", version);
    const response = await fetch(at, { headers: sent, redirect: "manual", signal });
    const location = response.headers.get("location");
    if (!REDIRECTS.has(response.status) || location === null) return response;
    await response.body?.cancel();
    const next = targetOf(location, at);
    if (!isHttp(next)) throw new SourceRefused(`${whereOf(at)} redirects to ${whereOf(next)}, which is not of HTTP`);
    if (!isAllowed(next, allow)) {
      throw new SourceRefused(`${whereOf(at)} redirects to ${whereOf(next)}, which is refused by allow`);
    }
    // A way back to the first origin was chosen by another one, so it gets no credentials either.
    if (next.origin !== first.origin) own = {};
    at = next;
  }
  throw new SourceRefused(`${whereOf(first)} redirects more than ${REDIRECTS_MAX} times`);
}

function targetOf(location: string, at: URL): URL {
  // A header is read as Latin-1, and servers write an address in UTF-8.
  const target = Buffer.from(location, "latin1").toString();
  if (!URL.canParse(target, at.href)) throw new SourceRefused(`${whereOf(at)} redirects to no valid address`);
  return new URL(target, at);
}

const isHttp = ({ protocol }: URL): boolean => /^https?:$/.test(protocol);

/** An address for errors, without what may be secret in it: its user and its query. */
const whereOf = ({ protocol, host, pathname }: URL): string => `${protocol}//${host}${pathname}`;

function isAllowed(url: URL, allow: Asked["allow"]): boolean {
  try {
    return allow(url);
  } catch (cause) {
    throw new SourceRefused(`${whereOf(url)} is refused by allow: ${sentenceOf(cause)}`, { cause });
  }
}

/** An answer that is no content. */
class SourceRefused extends Error {}
