/** Moments of runs whose agent chooses what varies, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { chose, leftOut, stopped } from "../support/states/choice-events.ts";
import { replied, startedEvent, stateAfter, textPart } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const begun = stateAfter(startedEvent);

export const CHOICE_MOMENTS: readonly Moment[] = [
  {
    moment: "a server has tools that are left out",
    state: begun,
    events: [leftOut, { ...leftOut, tools: [], count: 0, digest: "" }],
  },
  { moment: "the agent chooses before a call", state: begun, events: [chose] },
  {
    moment: "the agent stops its model",
    state: foldAll(begun, [chose]),
    events: [{ ...stopped, choice: { instructions: { kind: "inline", json: "Be brief." } } }],
  },
  {
    moment: "the agent chose, and a reply came",
    state: foldAll(begun, [chose]),
    events: [replied([textPart("done")])],
  },
];
