/** Moments of a run that undoes what it did, each with the events that lead on from it. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import { inline } from "../../src/core/message.ts";
import type { ParsedArgs } from "../../src/core/parsed-args.ts";
import {
  AT,
  FAILURE,
  abortDecided,
  stateAfter,
  answer,
  callPart,
  decided,
  messageReceived,
  intended,
  invoked,
  outcomeLost,
  paused,
  reconciled,
  replied,
  resulted,
  startedEvent,
  answerTaken,
} from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

/** The schemas of two of the tools made something else of the arguments. */
const PARSED: Readonly<Record<string, ParsedArgs>> = {
  c1: { as: "value", json: inline({ stamp: 1 }) },
  c2: { as: "projection", json: inline({ at: "Date(1970-01-01T00:00:00.000Z)" }) },
};

const undoable = (call: string): Event => {
  const parsed = PARSED[call];
  return { ...intended(call), undo: true, ...(parsed && { parsed }) } as Event;
};

const asked = (next: "cancel" | "restart"): Event => ({
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: `compensate#${next}#1` },
  body: { kind: "compensate", next, by: "ada" },
});

const undone = (call: string): Event => ({
  ...{ kind: "ToolCompensated", at: AT, call, value: inline({ refund: 5 }), evidence: "the undo returned" },
});

const leftAsIs = decided({ kind: "abort", failure: FAILURE, next: "leave" });
const undoOf = (call: string): Event => decided({ kind: "undo", call });
const again = decided({ kind: "restart", text: "Begin again." });

/** Two effects stand, what became of a third is not known, and a person spoke. */
const acted = stateAfter(
  ...[startedEvent, replied([callPart("book"), callPart("pay"), callPart("mail")])],
  ...["c1", "c2", "c3"].flatMap((call) => [undoable(call), invoked(call)]),
  ...[resulted("c1"), messageReceived("not on a Friday"), resulted("c2"), outcomeLost("c3", AT + 60)],
);
const failed = foldAll(acted, [abortDecided]);
const begun = foldAll(failed, [decided({ kind: "compensate" })]);
const atWork = foldAll(begun, [undoOf("c3"), intended("undo-c3"), invoked("undo-c3")]);
const unknown = foldAll(atWork, [outcomeLost("undo-c3", AT + 90)]);
const left = foldAll(unknown, [reconciled("undo-c3", answer("failed"))]);
const over = ["c2", "c1"].reduce(
  (state, call) =>
    foldAll(state, [undoOf(call), intended(`undo-${call}`), invoked(`undo-${call}`), undone(`undo-${call}`)]),
  left,
);
const second = foldAll(over, [again]);
const cancelled = foldAll(acted, [asked("cancel"), decided({ kind: "cancel" })]);

export const SAGA_MOMENTS: readonly Moment[] = [
  {
    moment: "effects stand",
    state: acted,
    events: [asked("cancel"), asked("restart"), answerTaken("c3", 1, answer("compensate"))],
  },
  { moment: "it has failed", state: failed, events: [decided({ kind: "compensate" }), leftAsIs] },
  { moment: "before an undo", state: begun, events: [undoOf("c3"), paused, leftAsIs, decided({ kind: "cancel" })] },
  {
    moment: "an undo is released",
    state: atWork,
    events: [undone("undo-c3"), outcomeLost("undo-c3", AT + 90), paused],
  },
  { moment: "nobody knows of an undo", state: unknown, events: [reconciled("undo-c3", answer("failed")), leftAsIs] },
  { moment: "between two undos", state: left, events: [undoOf("c2"), asked("cancel")] },
  { moment: "everything is undone", state: over, events: [again, leftAsIs] },
  {
    moment: "the second attempt",
    state: second,
    events: [replied([callPart("book")]), messageReceived("hurry", "u2"), abortDecided],
  },
  { moment: "cancelled with compensation", state: cancelled, events: [decided({ kind: "compensate" }), leftAsIs] },
];
