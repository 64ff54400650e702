/** Performs an operation of the API by its name. */
import { PLACES, type RoutedOperation } from "../operations/places.ts";
import { type Asking, type Endpoint, ask, unsendable } from "./request.ts";

/** What every method takes besides. */
export interface Asked {
  readonly signal?: AbortSignal;
  /** The trace of the caller, by the W3C's Trace Context: a run that the request starts links to it or is a part of it. */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** A precondition: the resume token of the run as the caller saw it. A run of a later epoch refuses with `Stale`. */
export interface Steering extends Asked {
  readonly ifMatch?: string;
}

export type GivenInput = Readonly<Record<string, unknown>>;

/** Performs operations at that endpoint, by name. Fields of the path are taken out of `given`. */
export const performAt =
  (endpoint: Endpoint) =>
  async (name: RoutedOperation, given: GivenInput & Steering, how: Partial<Asking> = {}): Promise<unknown> => {
    const [method, template, kind] = PLACES[name];
    const { signal, ifMatch, traceparent, tracestate, ...all } = given;
    const rest = { ...all };
    const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
      const value = String(all[field]);
      delete rest[field];
      // They would make a request for another path, and so for another operation.
      if (/^\.{0,2}$/.test(value)) throw unsendable(`no path has the ${field} "${value}"`);
      return encodeURIComponent(value);
    });
    const headers = {
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
      ...how.headers,
    };
    const carried = method === "post" ? { body: rest } : { query: rest as NonNullable<Asking["query"]> };
    return ask(endpoint, {
      method,
      path,
      signal,
      repeatable: method === "get" || kind === "again",
      ...carried,
      ...how,
      headers,
    });
  };
