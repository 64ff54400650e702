/**
 * Where the operations are. `again`: a change that may be sent again; `withKey`: it takes an idempotency key.
 * Written by `npm run derive` from the operation table: change the file of the operation.
 */
export const PLACES = {
  start: ["post", "/runs", "withKey"],
  list: ["get", "/runs"],
  show: ["get", "/runs/{run}"],
  timeline: ["get", "/runs/{run}/events"],
  ledger: ["get", "/runs/{run}/ledger"],
  cost: ["get", "/runs/{run}/cost"],
  diagnose: ["get", "/runs/{run}/diagnosis"],
  approvals: ["get", "/approvals"],
  agents: ["get", "/agents"],
  file: ["get", "/runs/{run}/files/{file}"],
  verify: ["get", "/runs/{run}/verification"],
  snapshot: ["get", "/runs/{run}/snapshots/{version}"],
  replay: ["get", "/runs/{run}/replay"],
  export: ["get", "/runs/{run}/export"],
  send: ["post", "/runs/{run}/messages", "withKey"],
  decide: ["post", "/runs/{run}/approvals/{gate}"],
  reconcile: ["post", "/runs/{run}/reconcile/{call}"],
  answer: ["post", "/runs/{run}/answers/{call}"],
  signal: ["post", "/runs/{run}/signals/{event}"],
  assign: ["post", "/runs/{run}/assignment"],
  upgrade: ["post", "/runs/{run}/upgrade"],
  pause: ["post", "/runs/{run}/pause"],
  resume: ["post", "/runs/{run}/resume"],
  cancel: ["post", "/runs/{run}/cancel"],
  cancelAll: ["post", "/agents/{agent}/cancel-all", "again"],
  restart: ["post", "/runs/{run}/restart"],
  fork: ["post", "/runs/{run}/fork", "withKey"],
  redrive: ["post", "/runs/{run}/redrive"],
  purge: ["delete", "/runs/{run}"],
  checked: ["post", "/runs/{run}/checked"],
  schedules: ["get", "/schedules"],
  pauseSchedule: ["post", "/schedules/{agent}/pause", "again"],
  resumeSchedule: ["post", "/schedules/{agent}/resume", "again"],
  runSchedule: ["post", "/schedules/{agent}/runs", "withKey"],
  memory: ["get", "/memory/{scope}"],
  memoryEntry: ["get", "/memory/{scope}/{id}"],
  forgetEntry: ["delete", "/memory/{scope}/{id}"],
  forgetMemory: ["delete", "/memory/{scope}", "again"],
  health: ["get", "/health"],
  webhooks: ["get", "/webhooks"],
  redeliver: ["post", "/webhooks/{endpoint}/redeliver", "again"],
  auditLog: ["get", "/audit-log"],
} as const;

/** An operation that has a route. */
export type RoutedOperation = keyof typeof PLACES;

/** The names in braces of a path. */
export type FieldsIn<Path extends string> = Path extends `${string}{${infer Field}}${infer Rest}`
  ? readonly [Field, ...FieldsIn<Rest>]
  : readonly [];
