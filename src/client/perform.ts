/** Performs an operation of the API by its name. */
import type { OperationName } from "../operations/table.ts";
import { type Asking, type Endpoint, ask } from "./request.ts";

/** What every method takes besides. */
export interface Asked {
  readonly signal?: AbortSignal;
}

/** A precondition: the resume token of the run as the caller saw it. A run of a later epoch refuses with `Stale`. */
export interface Steering extends Asked {
  readonly ifMatch?: string;
}

/** Where the operations are. A test compares it with the operation table, which this file must not load. */
export const PLACES = {
  start: ["post", "/runs"],
  list: ["get", "/runs"],
  show: ["get", "/runs/{run}"],
  timeline: ["get", "/runs/{run}/events"],
  ledger: ["get", "/runs/{run}/ledger"],
  cost: ["get", "/runs/{run}/cost"],
  diagnose: ["get", "/runs/{run}/diagnosis"],
  snapshot: ["get", "/runs/{run}/snapshots/{version}"],
  replay: ["get", "/runs/{run}/replay"],
  export: ["get", "/runs/{run}/export"],
  approvals: ["get", "/approvals"],
  agents: ["get", "/agents"],
  auditLog: ["get", "/audit-log"],
  file: ["get", "/runs/{run}/files/{file}"],
  verify: ["get", "/runs/{run}/verification"],
  send: ["post", "/runs/{run}/messages"],
  decide: ["post", "/runs/{run}/approvals/{gate}"],
  reconcile: ["post", "/runs/{run}/reconcile/{call}"],
  answer: ["post", "/runs/{run}/answers/{call}"],
  signal: ["post", "/runs/{run}/signals/{event}"],
  assign: ["post", "/runs/{run}/assignment"],
  upgrade: ["post", "/runs/{run}/upgrade"],
  pause: ["post", "/runs/{run}/pause"],
  resume: ["post", "/runs/{run}/resume"],
  cancel: ["post", "/runs/{run}/cancel"],
  cancelAll: ["post", "/agents/{agent}/cancel-all"],
  restart: ["post", "/runs/{run}/restart"],
  fork: ["post", "/runs/{run}/fork"],
  redrive: ["post", "/runs/{run}/redrive"],
  purge: ["delete", "/runs/{run}"],
  checked: ["post", "/runs/{run}/checked"],
  schedules: ["get", "/schedules"],
  pauseSchedule: ["post", "/schedules/{agent}/pause"],
  resumeSchedule: ["post", "/schedules/{agent}/resume"],
  runSchedule: ["post", "/schedules/{agent}/runs"],
  memory: ["get", "/memory/{scope}"],
  memoryEntry: ["get", "/memory/{scope}/{id}"],
  forgetEntry: ["delete", "/memory/{scope}/{id}"],
  forgetMemory: ["delete", "/memory/{scope}"],
} as const satisfies { readonly [N in OperationName]?: readonly [Asking["method"], string] };

export type Place = keyof typeof PLACES;
export type Given = Readonly<Record<string, unknown>>;

/** Performs operations at that endpoint, by name. Fields of the path are taken out of `given`. */
export const performAt =
  (endpoint: Endpoint) =>
  async (name: Place, given: Given & Steering, how: Partial<Asking> = {}): Promise<unknown> => {
    const [method, template] = PLACES[name];
    const { signal, ifMatch, ...all } = given;
    const rest = { ...all };
    const path = template.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
      const value = String(all[field]);
      delete rest[field];
      return encodeURIComponent(value);
    });
    const headers = { ...(ifMatch === undefined ? {} : { "if-match": ifMatch }), ...how.headers };
    const carried = method === "post" ? { body: rest } : { query: rest as NonNullable<Asking["query"]> };
    return ask(endpoint, { method, path, signal, repeatable: method === "get", ...carried, ...how, headers });
  };
