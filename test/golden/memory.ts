/** Moments of runs that recall and learn, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { stateAfter, textPart, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const answered = EVENT.replied([textPart("done")]);

export const MEMORY_MOMENTS: readonly Moment[] = [
  { moment: "a run begins, and recalls", state: stateAfter(EVENT.started), events: [EVENT.recalled] },
  { moment: "a run is done, and learns", state: stateAfter(EVENT.started, answered), events: [EVENT.learned] },
  {
    moment: "a run that recalled and learned learns again",
    state: foldAll(stateAfter(EVENT.started), [EVENT.recalled, answered, EVENT.learned]),
    events: [
      EVENT.learned,
      { ...EVENT.learned, refs: [...EVENT.learned.refs, { id: "fact-3", digest: "1".repeat(64) }] },
    ],
  },
];
