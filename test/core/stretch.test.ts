/** Which stretch of a transcript a summary may stand for, and what stays of it. */
import { foldAll } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { SIZES } from "../../src/codec/limits.ts";
import type { State } from "../../src/core/state.ts";
import { visibleMessages } from "../../src/core/policy/window.ts";
import { isWorthCompacting, compactionRangeOf } from "../../src/features/compaction/range.ts";
import { stateAfter, callPart, EVENT, textPart } from "../support/states/states-and-events.ts";

/** That many turns: a reply with one call, and its result. */
const turns = (count: number, from = 1, result = "fine"): readonly Event[] =>
  Array.from({ length: count }, (_, index) => `c${from + index}`).flatMap((call) => [
    ...[EVENT.replied([callPart("look")]), EVENT.intended(call), EVENT.invoked(call), EVENT.resulted(call, result)],
  ]);

const idsOf = (state: State): readonly string[] => visibleMessages(state).map(({ id }) => id);

/** The state after a summary of what may be summarised. */
function shorter(state: State): State {
  const stretch = compactionRangeOf(state);
  if (stretch === null) throw new Error("nothing may be summarised");
  const made = EVENT.compacted(state, stretch.from);
  return foldAll(state, [
    EVENT.compactDecided,
    { ...made, window: { ...made.window, lead: [...made.window.lead, ...stretch.stays] } },
  ]);
}

describe("the kept part of a compaction", () => {
  test("contains the task, the last reply with its results, and newer turns that take little space", () => {
    const few = stateAfter(EVENT.started, ...turns(3));
    // A quarter of seven messages has no room for more than the last turn.
    expect(idsOf(shorter(few))).toEqual(["m1", "m8", "m6", "m7"]);
    const many = stateAfter(EVENT.started, ...turns(40));
    const kept = idsOf(shorter(many)).length - 2;
    expect(kept).toBe(SIZES.keptMessages);
  });

  test("contains the last turn even if it is longer than everything before it", () => {
    const long = stateAfter(EVENT.started, ...turns(2), ...turns(1, 3, "x".repeat(5_000)));
    expect(idsOf(shorter(long))).toEqual(["m1", "m8", "m6", "m7"]);
    expect(isWorthCompacting(compactionRangeOf(long) ?? { from: 0, read: [], stays: [], replaces: 0, shows: 1 })).toBe(
      false,
    );
  });

  test("contains user messages until the model has replied with text, not only with calls", () => {
    const unanswered = stateAfter(
      EVENT.started,
      ...turns(2),
      EVENT.messageReceived("no flights before nine"),
      ...turns(2, 3),
    );
    expect(unanswered.messages[5]).toMatchObject({ id: "m6", source: "user:ada" });
    expect(idsOf(shorter(unanswered))).toEqual(["m1", "m11", "m6", "m9", "m10"]);
    const said = foldAll(unanswered, [
      EVENT.replied([textPart("As you like."), callPart("look")]),
      EVENT.intended("c5"),
      EVENT.invoked("c5"),
    ]);
    const answered = foldAll(said, [EVENT.resulted("c5"), ...turns(2, 6)]);
    expect(idsOf(shorter(answered))).not.toContain("m6");
  });

  test("contains open calls with their whole reply, wherever it is", () => {
    const both = stateAfter(
      ...[
        EVENT.started,
        EVENT.replied([callPart("book"), callPart("look")]),
        EVENT.intended("c1"),
        EVENT.invoked("c1"),
        EVENT.resulted("c1"),
      ],
      ...[EVENT.intended("c2"), EVENT.invoked("c2"), EVENT.resulted("c2"), ...turns(3, 3)],
    );
    // As if the first one were open still, or had to be undone.
    const open = [
      { ...stateAfter(EVENT.started, EVENT.replied([callPart("book")])).open[0], call: "c1" },
    ] as State["open"];
    expect(compactionRangeOf({ ...both, open })?.stays).toEqual(["m2", "m3", "m4"]);
    expect(compactionRangeOf(both)?.stays).toEqual([]);
  });
});

describe("a second summary", () => {
  const first = shorter(stateAfter(EVENT.started, ...turns(3)));

  test("is made only after another reply, and replaces the first one too", () => {
    expect(compactionRangeOf(first)).toBeNull();
    const later = foldAll(first, [EVENT.messageReceived("go on"), ...turns(2, 4)]);
    const stretch = compactionRangeOf(later);
    expect(stretch?.read.map(({ id }) => id)).toEqual(["m1", "m8", "m6", "m7", "m9", "m10", "m11"]);
    expect(idsOf(shorter(later))).toEqual(["m1", "m14", "m9", "m12", "m13"]);
  });

  test("is not made when it could only replace the first one", () => {
    expect(compactionRangeOf(foldAll(first, [EVENT.replied([])]))).toBeNull();
  });
});

test("a run without a reply, or with one, has nothing to summarise", () => {
  expect(compactionRangeOf(stateAfter(EVENT.started, EVENT.messageReceived("and be quick")))).toBeNull();
  expect(compactionRangeOf(stateAfter(EVENT.started, ...turns(1)))).toBeNull();
});

test("a window without its summary, or before the previous window, is an internal error", () => {
  const before = stateAfter(EVENT.started, ...turns(3), EVENT.compactDecided);
  const made = EVENT.compacted(before, 5);
  expect(() => foldAll(before, [{ ...made, window: { from: 5, lead: [] } }])).toThrow("leads with its summary");
  expect(() => foldAll(before, [{ ...made, window: { ...made.window, from: 1 } }])).toThrow("more than the one before");
});
