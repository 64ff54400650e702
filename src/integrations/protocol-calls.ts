/**
 * How the routes of another protocol, such as MCP, reach the API: as a client of it in this process, with the
 * credentials of the request that they answer. So the API alone decides who may do what.
 */
import type { Endpoint } from "../client/request.ts";
import { unlessAborted } from "../ports/unless-aborted.ts";
import * as problems from "../api/problem.ts";
import { credentialsOf } from "../api/streams/routes.ts";
import type { Reader } from "../api/streams/open-streams.ts";

export interface ApiCalls {
  /** Throws an `ApiProblem` if the request has no caller. */
  readonly identify: (request: Request) => Promise<Reader["caller"]>;
  /** Sends a request to the API; `original` is the request of the protocol, which identifies its caller. */
  readonly ask: (request: Request, original: Request) => Response | Promise<Response>;
}

/** No request leaves the process. */
const URL_HERE = "http://cairn.local";

export const credentialsIn = (headers: Headers): ReturnType<typeof credentialsOf> =>
  credentialsOf({ header: (name) => headers.get(name) ?? undefined });

/** The headers of the trace that the client is in. The API reads them. */
export const traceHeadersIn = (headers: Headers): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ["traceparent", "tracestate"].flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );

export const endpointFor = ({ ask }: ApiCalls, original: Request): Endpoint => ({
  url: URL_HERE,
  headers: () => ({ ...credentialsIn(original.headers), ...traceHeadersIn(original.headers) }),
  send: (request) => unlessAborted(request.signal, async () => ask(request, original)),
});

/** Throws an `ApiProblem` if the request comes from another site, or has no caller. */
export async function admit(request: Request, calls: ApiCalls): Promise<Reader> {
  requireOwnOrigin(request);
  return { run: null, caller: await calls.identify(request) };
}

/**
 * Refuses what a page of another site makes a browser send, also where a cookie identifies the caller and where a name
 * resolves to this machine. A client that is no browser sends no `Origin`.
 */
function requireOwnOrigin(request: Request): void {
  const origin = request.headers.get("origin");
  if (origin === null) return;
  const host = request.headers.get("host") ?? new URL(request.url).host;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new problems.ApiProblem({
    status: 403,
    code: "OriginRefused",
    detail: "a page of another site sent this request: nothing was done; call it from this origin, or from a server",
  });
}
