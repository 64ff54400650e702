/** Moments of runs with calls that wait, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { callPart, stateAfter, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const asked = stateAfter(
  ...[EVENT.started, EVENT.replied([callPart("ask"), callPart("paid"), callPart("rest")])],
  ...[EVENT.intended("c1", "none"), EVENT.intended("c2", "none"), EVENT.intended("c3", "none")],
);
const waiting = foldAll(asked, [EVENT.waitBegun("c1"), EVENT.waitBegun("c2", "event"), EVENT.waitBegun("c3", "time")]);

export const WAIT_MOMENTS: readonly Moment[] = [
  {
    moment: "calls are about to wait",
    state: asked,
    events: [
      EVENT.waitBegun("c1"),
      EVENT.waitBegun("c2", "event", { atLimit: { kind: "fail" } }),
      EVENT.waitBegun("c3", "time"),
      EVENT.eventCame("early"),
    ],
  },
  {
    moment: "calls wait for an answer, an event and a time",
    state: waiting,
    events: [
      EVENT.answerCame("c1"),
      EVENT.eventCame("one", { euros: 5 }),
      EVENT.eventCame("other", null, "shipped"),
      EVENT.inputIgnored,
      EVENT.resulted("c3", "slept"),
      EVENT.abortDecided,
      EVENT.decided({ kind: "cancel" }),
    ],
  },
  {
    moment: "an answer and an event came, and a second event is kept",
    state: foldAll(waiting, [EVENT.answerCame("c1"), EVENT.eventCame("one"), EVENT.eventCame("two")]),
    events: [EVENT.resulted("c1", "yes"), EVENT.inputRefused("c1"), EVENT.inputRefused("c2")],
  },
];
