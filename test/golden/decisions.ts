/** Moments around decisions that came to nothing, and around arguments that did not fit; each with the events from there. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import {
  IN_PHASE,
  abortDecided,
  approved,
  budgetRequested,
  decision,
  decisionTaken,
  eventOf,
  gateOpened,
} from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

const ignored = eventOf("DecisionIgnored", "AwaitingApproval");
const again = { ...gateOpened("c1"), gate: "gate-c1-again", timesReopened: 1 } as Event;
const waits = IN_PHASE.AwaitingApproval();
const taken = foldAll(waits, [decisionTaken("c1")]);
const edited = foldAll(waits, [approved("c1", decision("edit", { euros: "three" }))]);
const timesReopened = foldAll(edited, [again]);

export const DECISION_MOMENTS: readonly Moment[] = [
  { moment: "a decision was taken in", state: taken, events: [ignored, approved("c1"), abortDecided] },
  { moment: "a decision was ignored", state: foldAll(taken, [abortDecided, ignored]), events: [ignored] },
  { moment: "arguments were given that may not fit", state: edited, events: [again, budgetRequested()] },
  {
    moment: "a call is asked about again",
    state: timesReopened,
    events: [{ ...approved("c1"), gate: "gate-c1-again" } as Event, ignored],
  },
];
