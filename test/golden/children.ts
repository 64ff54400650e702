/** Moments of runs with children that no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import {
  abortDecided,
  stateAfter,
  callPart,
  decided,
  failed,
  FAILURE,
  IN_PHASE,
  intended,
  replied,
  startedEvent,
} from "../support/states/states-and-events.ts";
import { childEvent, continued, dispatched, reported } from "../support/states/child-events.ts";
import type { Moment } from "./moment.ts";

const waiting = IN_PHASE.AwaitingChildren;

export const CHILD_MOMENTS: readonly Moment[] = [
  {
    moment: "a call of a child tool is about to dispatch",
    state: stateAfter(startedEvent, replied([callPart("ask")]), intended("c1")),
    events: [dispatched("c1")],
  },
  {
    moment: "children work, and may report, be late, or stop",
    state: waiting(),
    events: [
      reported("c1"),
      reported("c2", "failed"),
      childEvent("ChildSuperseded"),
      continued("c1"),
      childEvent("ChildAskedToStop", "c2"),
      childEvent("ChildNeverMade", "c2"),
    ],
  },
  {
    moment: "a child was too late, and another one is dispatched",
    state: foldAll(waiting(), [childEvent("ChildSuperseded")]),
    events: [dispatched("c1", 2), reported("c1"), childEvent("ChildAskedToStop")],
  },
  {
    moment: "a child was too late, and the same one goes on",
    state: foldAll(waiting(), [continued("c1")]),
    events: [childEvent("ChildResumed"), continued("c1", 3), childEvent("ChildSuperseded"), reported("c1")],
  },
  {
    moment: "a child has reported, and the answer is not judged yet",
    state: foldAll(waiting(), [reported("c1")]),
    events: [dispatched("c1", 2), abortDecided],
  },
  {
    moment: "the end is decided, and waits for children",
    state: foldAll(waiting(), [abortDecided]),
    events: [reported("c1"), childEvent("ChildNeverMade", "c2"), decided({ kind: "force" })],
  },
  {
    moment: "the end is forced",
    state: foldAll(waiting(), [decided({ kind: "abort", failure: FAILURE, next: "leave", forced: true })]),
    events: [failed],
  },
];
