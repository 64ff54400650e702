/** Moments of runs with calls that wait, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import {
  callPart,
  intended,
  replied,
  resulted,
  startedEvent,
  stateAfter,
} from "../support/states/states-and-events.ts";
import { answerCame, eventCame, inputIgnored, inputRefused, waitBegun } from "../support/states/wait-events.ts";
import { abortDecided, decided } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const asked = stateAfter(
  ...[startedEvent, replied([callPart("ask"), callPart("paid"), callPart("rest")])],
  ...[intended("c1", "none"), intended("c2", "none"), intended("c3", "none")],
);
const waiting = foldAll(asked, [waitBegun("c1"), waitBegun("c2", "event"), waitBegun("c3", "time")]);

export const WAIT_MOMENTS: readonly Moment[] = [
  {
    moment: "calls are about to wait",
    state: asked,
    events: [
      waitBegun("c1"),
      waitBegun("c2", "event", { atLimit: { kind: "fail" } }),
      waitBegun("c3", "time"),
      eventCame("early"),
    ],
  },
  {
    moment: "calls wait for an answer, an event and a time",
    state: waiting,
    events: [
      answerCame("c1"),
      eventCame("one", { euros: 5 }),
      eventCame("other", null, "shipped"),
      inputIgnored,
      resulted("c3", "slept"),
      abortDecided,
      decided({ kind: "cancel" }),
    ],
  },
  {
    moment: "an answer and an event came, and a second event is kept",
    state: foldAll(waiting, [answerCame("c1"), eventCame("one"), eventCame("two")]),
    events: [resulted("c1", "yes"), inputRefused("c1"), inputRefused("c2")],
  },
];
