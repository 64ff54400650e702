/** Moments of runs whose results are too long to show and get a summary, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { callPart, stateAfter, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const returned = () =>
  foldAll(stateAfter(EVENT.started), [
    EVENT.replied([callPart("act")]),
    EVENT.intended("c1"),
    EVENT.invoked("c1", 1),
    EVENT.resultedLarge("c1"),
  ]);

export const RESULT_SUMMARY_MOMENTS: readonly Moment[] = [
  { moment: "a result is too long to show, and gets a summary", state: returned(), events: [EVENT.summarised] },
  { moment: "a result is too long to show, and gets none", state: returned(), events: [EVENT.unsummarisable] },
  {
    moment: "a result has a summary",
    state: foldAll(returned(), [EVENT.summarised]),
    events: [EVENT.replied([callPart("act")])],
  },
];
