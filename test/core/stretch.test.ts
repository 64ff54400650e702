/** Which stretch of a transcript a summary may stand for, and what stays of it. */
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { State } from "../../src/core/state.ts";
import { foldAll } from "../../src/core/transition.ts";
import { visibleMessages } from "../../src/core/policy/window.ts";
import { isWorthCompacting, compactionRangeOf } from "../../src/engine/model/compaction-range.ts";
import { after, calls, compacted, compacting, heard, intended, invoked, replied } from "../support/build.ts";
import { resulted, says, startedEvent } from "../support/build.ts";

/** That many turns: a reply with one call, and its result. */
const turns = (count: number, from = 1, result = "fine"): readonly Event[] =>
  Array.from({ length: count }, (_, index) => `c${from + index}`).flatMap((call) => [
    ...[replied([calls("look")]), intended(call), invoked(call), resulted(call, result)],
  ]);

const idsOf = (state: State): readonly string[] => visibleMessages(state).map(({ id }) => id);

/** The state after a summary of what may be summarised. */
function shorter(state: State): State {
  const stretch = compactionRangeOf(state);
  if (stretch === null) throw new Error("nothing may be summarised");
  const made = compacted(state, stretch.from);
  return foldAll(state, [
    compacting,
    { ...made, window: { ...made.window, lead: [...made.window.lead, ...stretch.stays] } },
  ]);
}

describe("what stays", () => {
  test("is the task, the last reply with its results, and newer turns that take up little room", () => {
    const few = after(startedEvent, ...turns(3));
    // A quarter of seven messages has no room for more than the last turn.
    expect(idsOf(shorter(few))).toEqual(["m1", "m8", "m6", "m7"]);
    const many = after(startedEvent, ...turns(40));
    const kept = idsOf(shorter(many)).length - 2;
    expect(kept).toBe(SIZES.keptMessages);
  });

  test("is the last turn also where it is longer than everything before it", () => {
    const long = after(startedEvent, ...turns(2), ...turns(1, 3, "x".repeat(5_000)));
    expect(idsOf(shorter(long))).toEqual(["m1", "m8", "m6", "m7"]);
    expect(isWorthCompacting(compactionRangeOf(long) ?? { from: 0, read: [], stays: [], replaces: 0, shows: 1 })).toBe(
      false,
    );
  });

  test("are words of a person until the model has answered in words, not only in calls", () => {
    const unanswered = after(startedEvent, ...turns(2), heard("no flights before nine"), ...turns(2, 3));
    expect(unanswered.messages[5]).toMatchObject({ id: "m6", source: "user:ada" });
    expect(idsOf(shorter(unanswered))).toEqual(["m1", "m11", "m6", "m9", "m10"]);
    const said = foldAll(unanswered, [replied([says("As you like."), calls("look")]), intended("c5"), invoked("c5")]);
    const answered = foldAll(said, [resulted("c5"), ...turns(2, 6)]);
    expect(idsOf(shorter(answered))).not.toContain("m6");
  });

  test("are open calls with their whole reply, wherever it is", () => {
    const both = after(
      ...[startedEvent, replied([calls("book"), calls("look")]), intended("c1"), invoked("c1"), resulted("c1")],
      ...[intended("c2"), invoked("c2"), resulted("c2"), ...turns(3, 3)],
    );
    // As if the first one were open still, or had to be undone.
    const open = [{ ...after(startedEvent, replied([calls("book")])).open[0], call: "c1" }] as State["open"];
    expect(compactionRangeOf({ ...both, open })?.stays).toEqual(["m2", "m3", "m4"]);
    expect(compactionRangeOf(both)?.stays).toEqual([]);
  });
});

describe("a second summary", () => {
  const first = shorter(after(startedEvent, ...turns(3)));

  test("is made only after another reply, and stands for the first one too", () => {
    expect(compactionRangeOf(first)).toBeNull();
    const later = foldAll(first, [heard("go on"), ...turns(2, 4)]);
    const stretch = compactionRangeOf(later);
    expect(stretch?.read.map(({ id }) => id)).toEqual(["m1", "m8", "m6", "m7", "m9", "m10", "m11"]);
    expect(idsOf(shorter(later))).toEqual(["m1", "m14", "m9", "m12", "m13"]);
  });

  test("is not made where only the first one could be replaced", () => {
    expect(compactionRangeOf(foldAll(first, [replied([])]))).toBeNull();
  });
});

test("nothing may be summarised of a run without a reply, or with one", () => {
  expect(compactionRangeOf(after(startedEvent, heard("and be quick")))).toBeNull();
  expect(compactionRangeOf(after(startedEvent, ...turns(1)))).toBeNull();
});

test("a window without its summary, or in front of the one before it, is a mistake of ours", () => {
  const before = after(startedEvent, ...turns(3), compacting);
  const made = compacted(before, 5);
  expect(() => foldAll(before, [{ ...made, window: { from: 5, lead: [] } }])).toThrow("leads with its summary");
  expect(() => foldAll(before, [{ ...made, window: { ...made.window, from: 1 } }])).toThrow("more than the one before");
});
