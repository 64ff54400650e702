/** Moments of runs whose model was away, and of a run that failed of it and goes on, which no phase shows by itself. */
import { fold, foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import type { State } from "../../src/core/state.ts";
import { AT, FAILURE, IN_PHASE, textPart, EVENT } from "../support/states/states-and-events.ts";

interface Moment {
  readonly moment: string;
  readonly state: State;
  readonly events: readonly Event[];
}

const outage = { since: AT - 600_000, attempts: 9, notBefore: AT + 5_000 };
const away = fold(IN_PHASE.RetryingLLM(), EVENT.decided({ kind: "retry", at: AT + 9_000, outage }));
const asksFallback = fold(
  away,
  EVENT.decided({ kind: "retry", at: AT, outage: { ...outage, model: 1, alarmed: true } }),
);
const fallbackAnswered = fold(asksFallback, EVENT.replied([textPart("here")]));
const failed = foldAll(IN_PHASE.ExecutingTools(), EVENT.modelUnavailable("ExecutingTools", ["c3"]));

export const OUTAGE_MOMENTS: readonly Moment[] = [
  {
    moment: "its model is away",
    state: away,
    events: [EVENT.replied([textPart("here")]), EVENT.messageReceived("are you there?"), EVENT.paused],
  },
  { moment: "its fallback is asked", state: asksFallback, events: [EVENT.replied([textPart("here")])] },
  {
    moment: "its fallback answered",
    state: fallbackAnswered,
    events: [EVENT.decided({ kind: "abort", failure: FAILURE }), EVENT.decided({ kind: "nudge", text: "go on" })],
  },
  { moment: "it failed, and may go on", state: failed, events: [EVENT.redriven] },
  { moment: "it went on", state: fold(failed, EVENT.redriven), events: [EVENT.paused] },
];
