/** Moments of runs that recall and learn, which no phase shows by itself. */
import { foldAll } from "../../src/features/compose.ts";
import { replied, startedEvent, stateAfter, textPart } from "../support/states/states-and-events.ts";
import { learned, recalled } from "../support/states/memory-events.ts";
import type { Moment } from "./moment.ts";

const answered = replied([textPart("done")]);

export const MEMORY_MOMENTS: readonly Moment[] = [
  { moment: "a run begins, and recalls", state: stateAfter(startedEvent), events: [recalled] },
  { moment: "a run is done, and learns", state: stateAfter(startedEvent, answered), events: [learned] },
  {
    moment: "a run that recalled and learned learns again",
    state: foldAll(stateAfter(startedEvent), [recalled, answered, learned]),
    events: [learned, { ...learned, refs: [...learned.refs, { id: "fact-3", digest: "1".repeat(64) }] }],
  },
];
