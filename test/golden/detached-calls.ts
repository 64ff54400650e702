/** Moments of runs whose asynchronous model works on a job, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import {
  callPart,
  decided,
  replied,
  startedEvent,
  stateAfter,
  messageReceived,
} from "../support/states/states-and-events.ts";
import { detachedBegun, detachedEnded, detachedSubmitted } from "../support/states/detached-events.ts";
import type { Moment } from "./moment.ts";

const begun = stateAfter(startedEvent, detachedBegun());

export const DETACHED_CALL_MOMENTS: readonly Moment[] = [
  {
    moment: "the model is asynchronous",
    state: stateAfter(startedEvent),
    events: [detachedBegun({ routed: { by: "fallback", why: "the model before it did not answer" } })],
  },
  {
    moment: "the request of a model job may have left",
    state: begun,
    events: [
      detachedSubmitted,
      { ...detachedSubmitted, adopted: true },
      detachedEnded,
      decided({ kind: "retry", at: 1, outage: { since: 1, attempts: 1 } }),
    ],
  },
  {
    moment: "a model job is out, and a user wrote",
    state: foldAll(begun, [detachedSubmitted, messageReceived("Hurry.")]),
    events: [replied([callPart("book")]), detachedEnded, decided({ kind: "cancel" })],
  },
];
