/** Moments of runs whose asynchronous model works on a job, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { callPart, stateAfter, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const begun = stateAfter(EVENT.started, EVENT.detachedBegun());

export const DETACHED_CALL_MOMENTS: readonly Moment[] = [
  {
    moment: "the model is asynchronous",
    state: stateAfter(EVENT.started),
    events: [EVENT.detachedBegun({ routed: { by: "fallback", why: "the model before it did not answer" } })],
  },
  {
    moment: "the request of a model job may have left",
    state: begun,
    events: [
      EVENT.detachedSubmitted,
      { ...EVENT.detachedSubmitted, adopted: true },
      EVENT.detachedEnded,
      EVENT.decided({ kind: "retry", at: 1, outage: { since: 1, attempts: 1 } }),
    ],
  },
  {
    moment: "a model job is out, and a user wrote",
    state: foldAll(begun, [EVENT.detachedSubmitted, EVENT.messageReceived("Hurry.")]),
    events: [EVENT.replied([callPart("book")]), EVENT.detachedEnded, EVENT.decided({ kind: "cancel" })],
  },
];
