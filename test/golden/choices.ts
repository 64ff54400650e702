/** Moments of runs whose agent chooses what varies, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { stateAfter, textPart, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const begun = stateAfter(EVENT.started);

export const CHOICE_MOMENTS: readonly Moment[] = [
  {
    moment: "a server has tools that are left out",
    state: begun,
    events: [EVENT.leftOut, { ...EVENT.leftOut, tools: [], count: 0, digest: "" }],
  },
  { moment: "the agent chooses before a call", state: begun, events: [EVENT.chose] },
  {
    moment: "the agent stops its model",
    state: foldAll(begun, [EVENT.chose]),
    events: [{ ...EVENT.stopped, choice: { instructions: { kind: "inline", json: "Be brief." } } }],
  },
  {
    moment: "the agent chose, and a reply came",
    state: foldAll(begun, [EVENT.chose]),
    events: [EVENT.replied([textPart("done")])],
  },
];
