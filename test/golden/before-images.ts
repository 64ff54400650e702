/** Moments around a before-image: released with one, and probed with it. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import { IN_PHASE, eventOf } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const running = IN_PHASE.ExecutingTools();
const released = { ...eventOf("ToolInvoked", "ExecutingTools"), before: { address: "Oslo" } } as Event;

export const BEFORE_IMAGE_MOMENTS: readonly Moment[] = [
  { moment: "a call is to be released with its before-image", state: running, events: [released] },
  {
    moment: "a call was released with its before-image",
    state: foldAll(running, [released]),
    events: [eventOf("ToolOutcomeUnknown", "ExecutingTools")],
  },
];
