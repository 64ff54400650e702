/** Which effects of an attempt stand, of which the engine and the operator are told the same. */
import { foldAll } from "../../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Effect } from "../../../src/core/calls/effects.ts";
import type { Event } from "../../../src/core/event.ts";
import { type CallFacts, effectsThatStand } from "../../../src/features/saga/core-standing.ts";
import type { State } from "../../../src/core/state.ts";
import { stateAfter, answer, callPart, EVENT } from "../../support/states/states-and-events.ts";

const undoable = (call: string): Event => ({ ...EVENT.intended(call), undo: true }) as Event;
const known =
  (effect: Effect | null = "keyed", isUndone = false) =>
  (): CallFacts => ({ effect, isUndone });
const two = (...events: readonly Event[]): State =>
  stateAfter(EVENT.started, EVENT.replied([callPart("book"), callPart("pay")]), ...events);

describe("an effect stands", () => {
  test("when its call succeeded, may have happened, or is under way, in the order of its proposal", () => {
    const underWay = two(EVENT.intended("c1"), EVENT.intended("c2"), EVENT.invoked("c1"), EVENT.invoked("c2"));
    expect(effectsThatStand(underWay, known()).standing).toEqual(["book (c1)", "pay (c2)"]);
    const unknown = foldAll(underWay, [EVENT.resulted("c2"), EVENT.outcomeLost("c1")]);
    expect(effectsThatStand(unknown, known()).standing).toEqual(["book (c1)", "pay (c2)"]);
    expect(effectsThatStand(unknown, known(null)).standing).toEqual(["book (c1)", "pay (c2)"]);
  });

  test("unless its call never happened", () => {
    expect(effectsThatStand(two(EVENT.intended("c1")), known()).standing).toEqual([]);
    const unknown = two(
      EVENT.intended("c1"),
      EVENT.intended("c2"),
      EVENT.invoked("c1"),
      EVENT.invoked("c2"),
      EVENT.outcomeLost("c1"),
    );
    const failed = foldAll(unknown, [EVENT.reconciled("c1", answer("failed"))]);
    expect(effectsThatStand(failed, known()).standing).toEqual(["pay (c2)"]);
    const again = foldAll(unknown, [EVENT.reconciled("c1", answer("retry"))]);
    expect(effectsThatStand(again, known()).standing).toEqual(["pay (c2)"]);
  });

  test("unless its tool has none, or it was undone", () => {
    const done = two(
      EVENT.intended("c1"),
      EVENT.intended("c2"),
      EVENT.invoked("c1"),
      EVENT.invoked("c2"),
      EVENT.resulted("c1"),
      EVENT.resulted("c2"),
    );
    expect(effectsThatStand(done, known("none")).standing).toEqual([]);
    const isUndone = ({ call }: { readonly call: string }): CallFacts => ({ effect: "keyed", isUndone: call === "c1" });
    expect(effectsThatStand(done, isUndone).standing).toEqual(["pay (c2)"]);
  });

  test("unless it can still be undone", () => {
    const done = two(undoable("c1"), undoable("c2"), EVENT.invoked("c1"), EVENT.invoked("c2"), EVENT.resulted("c1"));
    expect(effectsThatStand(done, known())).toEqual({ undoable: ["book (c1)", "pay (c2)"], standing: [] });
  });

  test("unless it is of an attempt before this one", () => {
    const done = two(
      EVENT.intended("c1"),
      EVENT.intended("c2"),
      EVENT.invoked("c1"),
      EVENT.invoked("c2"),
      EVENT.resulted("c1"),
      EVENT.resulted("c2"),
    );
    const begun = foldAll(done, [
      EVENT.abortDecided,
      EVENT.decided({ kind: "compensate" }),
      EVENT.decided({ kind: "restart", text: "once more" }),
      EVENT.replied([callPart("book")]),
      EVENT.intended("c3"),
      EVENT.invoked("c3"),
    ]);
    expect(effectsThatStand(begun, known()).standing).toEqual(["book (c3)"]);
  });
});
