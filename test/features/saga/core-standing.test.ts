/** Which effects of an attempt stand, of which the engine and the operator are told the same. */
import { foldAll } from "../../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Effect } from "../../../src/core/calls/effects.ts";
import type { Event } from "../../../src/core/event.ts";
import { type CallFacts, effectsThatStand } from "../../../src/features/saga/core-standing.ts";
import type { State } from "../../../src/core/state.ts";
import {
  stateAfter,
  abortDecided,
  answer,
  callPart,
  decided,
  intended,
  invoked,
} from "../../support/states/states-and-events.ts";
import { outcomeLost, reconciled, replied, resulted, startedEvent } from "../../support/states/states-and-events.ts";

const undoable = (call: string): Event => ({ ...intended(call), undo: true }) as Event;
const known =
  (effect: Effect | null = "keyed", isUndone = false) =>
  (): CallFacts => ({ effect, isUndone });
const two = (...events: readonly Event[]): State =>
  stateAfter(startedEvent, replied([callPart("book"), callPart("pay")]), ...events);

describe("an effect stands", () => {
  test("when its call succeeded, may have happened, or is under way, in the order of its proposal", () => {
    const underWay = two(intended("c1"), intended("c2"), invoked("c1"), invoked("c2"));
    expect(effectsThatStand(underWay, known()).standing).toEqual(["book (c1)", "pay (c2)"]);
    const unknown = foldAll(underWay, [resulted("c2"), outcomeLost("c1")]);
    expect(effectsThatStand(unknown, known()).standing).toEqual(["book (c1)", "pay (c2)"]);
    expect(effectsThatStand(unknown, known(null)).standing).toEqual(["book (c1)", "pay (c2)"]);
  });

  test("unless its call never happened", () => {
    expect(effectsThatStand(two(intended("c1")), known()).standing).toEqual([]);
    const unknown = two(intended("c1"), intended("c2"), invoked("c1"), invoked("c2"), outcomeLost("c1"));
    const failed = foldAll(unknown, [reconciled("c1", answer("failed"))]);
    expect(effectsThatStand(failed, known()).standing).toEqual(["pay (c2)"]);
    const again = foldAll(unknown, [reconciled("c1", answer("retry"))]);
    expect(effectsThatStand(again, known()).standing).toEqual(["pay (c2)"]);
  });

  test("unless its tool has none, or it was undone", () => {
    const done = two(intended("c1"), intended("c2"), invoked("c1"), invoked("c2"), resulted("c1"), resulted("c2"));
    expect(effectsThatStand(done, known("none")).standing).toEqual([]);
    const isUndone = ({ call }: { readonly call: string }): CallFacts => ({ effect: "keyed", isUndone: call === "c1" });
    expect(effectsThatStand(done, isUndone).standing).toEqual(["pay (c2)"]);
  });

  test("unless it can still be undone", () => {
    const done = two(undoable("c1"), undoable("c2"), invoked("c1"), invoked("c2"), resulted("c1"));
    expect(effectsThatStand(done, known())).toEqual({ undoable: ["book (c1)", "pay (c2)"], standing: [] });
  });

  test("unless it is of an attempt before this one", () => {
    const done = two(intended("c1"), intended("c2"), invoked("c1"), invoked("c2"), resulted("c1"), resulted("c2"));
    const begun = foldAll(done, [
      abortDecided,
      decided({ kind: "compensate" }),
      decided({ kind: "restart", text: "once more" }),
      replied([callPart("book")]),
      intended("c3"),
      invoked("c3"),
    ]);
    expect(effectsThatStand(begun, known()).standing).toEqual(["book (c3)"]);
  });
});
