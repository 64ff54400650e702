/**
 * Asks the API of the server that served this page. A token goes in a header and never in an address, which ends up in
 * logs and histories. It is kept for this tab only.
 */
import { signal } from "@preact/signals";
import { ApiError, UNREACHABLE, troubleIn } from "./problem.ts";

const KEPT = "cairn.token";

/** Null: the server asks for none, or the user has not signed in. */
export const token: string | null = sessionStorage.getItem(KEPT);

/** The last answer was that a token is needed, with the reason. */
export const signInNeeded = signal<string | null>(null);

/** Null signs out. Another token sees other runs, so the page begins anew, without anything that it has read. */
export function signInWith(given: string | null): void {
  if (given === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, given);
  location.reload();
}

/** The path of the API: the folder of this page, without the slash at its end. */
export const base = (): string => new URL(".", location.href).href.replace(/\/$/, "");

export interface ConsoleRequest {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly body?: object | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** When each request for a document that has no answer yet was sent, and when the last answer to any request began. */
export const awaited = { since: new Map<object, number>(), heardAt: 0 };

/** A gateway answers within this time. What is read later than that comes over a connection that is dead. */
const READ_MS_MAX = 30_000;

/** The answer, whatever its status. Throws an `ApiError` if none comes. */
export async function sendToApi(
  path: string,
  { method = "GET", body, headers, signal }: ConsoleRequest = {},
): Promise<Response> {
  try {
    const response = await fetch(`${base()}${path}`, {
      method,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "follow",
      signal: signal ?? null,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    awaited.heardAt = Date.now();
    return response;
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(UNREACHABLE);
  }
}

/** The document of a success. Throws an `ApiError` for a problem, and for a success whose document did not arrive whole. */
export async function askApi<Document>(path: string, asking: ConsoleRequest = {}): Promise<Document> {
  if ((asking.method ?? "GET") !== "GET") return documentOf<Document>(await sendToApi(path, asking));
  const late = AbortSignal.timeout(READ_MS_MAX);
  const signal = asking.signal === undefined ? late : AbortSignal.any([asking.signal, late]);
  const request = {};
  awaited.since.set(request, Date.now());
  try {
    return await documentOf<Document>(await sendToApi(path, { ...asking, signal }));
  } catch (error) {
    if (late.aborted && asking.signal?.aborted !== true) throw new ApiError(UNREACHABLE);
    throw error;
  } finally {
    awaited.since.delete(request);
  }
}

export async function documentOf<Document>(response: Response): Promise<Document> {
  if (response.ok) return (await response.json().catch(brokenOff)) as Document;
  const document: unknown = await response.json().catch(() => null);
  const trouble = troubleIn(response.status, document);
  if (response.status === 401) signInNeeded.value = trouble.detail;
  throw new ApiError(trouble);
}

/** Fails as a request without an answer does, since what the server did is as unknown. An aborted request stays one. */
function brokenOff(error: unknown): never {
  if (error instanceof DOMException && error.name === "AbortError") throw error;
  throw new ApiError({ ...UNREACHABLE, detail: "The answer of the server broke off or is no JSON." });
}
