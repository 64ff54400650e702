/** Moments of runs whose results are too long to show and get a summary, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { resultedLarge, summarised, unsummarisable } from "../support/states/result-summaries.ts";
import { callPart, intended, invoked, replied, startedEvent, stateAfter } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const returned = () =>
  foldAll(stateAfter(startedEvent), [
    replied([callPart("act")]),
    intended("c1"),
    invoked("c1", 1),
    resultedLarge("c1"),
  ]);

export const RESULT_SUMMARY_MOMENTS: readonly Moment[] = [
  { moment: "a result is too long to show, and gets a summary", state: returned(), events: [summarised] },
  { moment: "a result is too long to show, and gets none", state: returned(), events: [unsummarisable] },
  { moment: "a result has a summary", state: foldAll(returned(), [summarised]), events: [replied([callPart("act")])] },
];
