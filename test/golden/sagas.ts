/** Moments of a run that undoes what it did, each with the events that lead on from it. */
import { foldAll } from "../../src/features/compose.ts";
import type { Event } from "../../src/core/event.ts";
import { inline } from "../../src/core/message.ts";
import type { ParsedArgs } from "../../src/core/parsed-args.ts";
import { AT, FAILURE, stateAfter, answer, callPart, EVENT } from "../support/states/states-and-events.ts";
import type { Moment } from "./moment.ts";

/** The schemas of two of the tools made something else of the arguments. */
const PARSED: Readonly<Record<string, ParsedArgs>> = {
  c1: { as: "value", json: inline({ stamp: 1 }) },
  c2: { as: "projection", json: inline({ at: "Date(1970-01-01T00:00:00.000Z)" }) },
};

const undoable = (call: string): Event => {
  const parsed = PARSED[call];
  return { ...EVENT.intended(call), undo: true, ...(parsed && { parsed }) } as Event;
};

const asked = (next: "cancel" | "restart"): Event => ({
  ...{ kind: "MessageAbsorbed", at: AT, stage: "taken", message: `compensate#${next}#1` },
  body: { kind: "compensate", next, by: "ada" },
});

const undone = (call: string): Event => ({
  ...{ kind: "ToolCompensated", at: AT, call, value: inline({ refund: 5 }), evidence: "the undo returned" },
});

const leftAsIs = EVENT.decided({ kind: "abort", failure: FAILURE, next: "leave" });
const undoOf = (call: string): Event => EVENT.decided({ kind: "undo", call });
const again = EVENT.decided({ kind: "restart", text: "Begin again." });

/** Two effects stand, what became of a third is not known, and a person spoke. */
const acted = stateAfter(
  ...[EVENT.started, EVENT.replied([callPart("book"), callPart("pay"), callPart("mail")])],
  ...["c1", "c2", "c3"].flatMap((call) => [undoable(call), EVENT.invoked(call)]),
  ...[
    EVENT.resulted("c1"),
    EVENT.messageReceived("not on a Friday"),
    EVENT.resulted("c2"),
    EVENT.outcomeLost("c3", AT + 60),
  ],
);
const failed = foldAll(acted, [EVENT.abortDecided]);
const begun = foldAll(failed, [EVENT.decided({ kind: "compensate" })]);
const atWork = foldAll(begun, [undoOf("c3"), EVENT.intended("undo-c3"), EVENT.invoked("undo-c3")]);
const unknown = foldAll(atWork, [EVENT.outcomeLost("undo-c3", AT + 90)]);
const left = foldAll(unknown, [EVENT.reconciled("undo-c3", answer("failed"))]);
const over = ["c2", "c1"].reduce(
  (state, call) =>
    foldAll(state, [
      undoOf(call),
      EVENT.intended(`undo-${call}`),
      EVENT.invoked(`undo-${call}`),
      undone(`undo-${call}`),
    ]),
  left,
);
const second = foldAll(over, [again]);
const cancelled = foldAll(acted, [asked("cancel"), EVENT.decided({ kind: "cancel" })]);

export const SAGA_MOMENTS: readonly Moment[] = [
  {
    moment: "effects stand",
    state: acted,
    events: [asked("cancel"), asked("restart"), EVENT.answerTaken("c3", 1, answer("compensate"))],
  },
  { moment: "it has failed", state: failed, events: [EVENT.decided({ kind: "compensate" }), leftAsIs] },
  {
    moment: "before an undo",
    state: begun,
    events: [undoOf("c3"), EVENT.paused, leftAsIs, EVENT.decided({ kind: "cancel" })],
  },
  {
    moment: "an undo is released",
    state: atWork,
    events: [undone("undo-c3"), EVENT.outcomeLost("undo-c3", AT + 90), EVENT.paused],
  },
  {
    moment: "nobody knows of an undo",
    state: unknown,
    events: [EVENT.reconciled("undo-c3", answer("failed")), leftAsIs],
  },
  { moment: "between two undos", state: left, events: [undoOf("c2"), asked("cancel")] },
  { moment: "everything is undone", state: over, events: [again, leftAsIs] },
  {
    moment: "the second attempt",
    state: second,
    events: [EVENT.replied([callPart("book")]), EVENT.messageReceived("hurry", "u2"), EVENT.abortDecided],
  },
  {
    moment: "cancelled with compensation",
    state: cancelled,
    events: [EVENT.decided({ kind: "compensate" }), leftAsIs],
  },
];
