/** Moments of runs with children that no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { stateAfter, callPart, FAILURE, IN_PHASE, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const waiting = IN_PHASE.AwaitingChildren;

export const CHILD_MOMENTS: readonly Moment[] = [
  {
    moment: "a call of a child tool is about to dispatch",
    state: stateAfter(EVENT.started, EVENT.replied([callPart("ask")]), EVENT.intended("c1")),
    events: [EVENT.dispatched("c1")],
  },
  {
    moment: "children work, and may report, be late, or stop",
    state: waiting(),
    events: [
      EVENT.reported("c1"),
      EVENT.reported("c2", "failed"),
      EVENT.child("ChildSuperseded"),
      EVENT.continued("c1"),
      EVENT.child("ChildAskedToStop", "c2"),
      EVENT.child("ChildNeverMade", "c2"),
    ],
  },
  {
    moment: "a child was too late, and another one is dispatched",
    state: foldAll(waiting(), [EVENT.child("ChildSuperseded")]),
    events: [EVENT.dispatched("c1", 2), EVENT.reported("c1"), EVENT.child("ChildAskedToStop")],
  },
  {
    moment: "a child was too late, and the same one goes on",
    state: foldAll(waiting(), [EVENT.continued("c1")]),
    events: [
      EVENT.child("ChildResumed"),
      EVENT.continued("c1", 3),
      EVENT.child("ChildSuperseded"),
      EVENT.reported("c1"),
    ],
  },
  {
    moment: "a child has reported, and the answer is not judged yet",
    state: foldAll(waiting(), [EVENT.reported("c1")]),
    events: [EVENT.dispatched("c1", 2), EVENT.abortDecided],
  },
  {
    moment: "the end is decided, and waits for children",
    state: foldAll(waiting(), [EVENT.abortDecided]),
    events: [EVENT.reported("c1"), EVENT.child("ChildNeverMade", "c2"), EVENT.decided({ kind: "force" })],
  },
  {
    moment: "the end is forced",
    state: foldAll(waiting(), [EVENT.decided({ kind: "abort", failure: FAILURE, next: "leave", forced: true })]),
    events: [EVENT.failed],
  },
];
