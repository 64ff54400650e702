/** Moments around decisions that came to nothing, and around arguments that did not fit; each with the events from there. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import { IN_PHASE, decision, eventOf, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const ignored = eventOf("DecisionIgnored", "AwaitingApproval");
const again = { ...EVENT.gateOpened("c1"), gate: "gate-c1-again", timesReopened: 1 } as Event;
const waits = IN_PHASE.AwaitingApproval();
const taken = foldAll(waits, [EVENT.decisionTaken("c1")]);
const edited = foldAll(waits, [EVENT.approved("c1", decision("edit", { euros: "three" }))]);
const timesReopened = foldAll(edited, [again]);

export const DECISION_MOMENTS: readonly Moment[] = [
  { moment: "a decision was taken in", state: taken, events: [ignored, EVENT.approved("c1"), EVENT.abortDecided] },
  { moment: "a decision was ignored", state: foldAll(taken, [EVENT.abortDecided, ignored]), events: [ignored] },
  { moment: "arguments were given that may not fit", state: edited, events: [again, EVENT.budgetRequested()] },
  {
    moment: "a call is asked about again",
    state: timesReopened,
    events: [{ ...EVENT.approved("c1"), gate: "gate-c1-again" } as Event, ignored],
  },
];
