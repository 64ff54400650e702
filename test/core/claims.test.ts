/** When results contradict each other, and when a fact has only changed. */
import { foldAll } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import type { Json } from "../../src/core/json.ts";
import {
  type Claims,
  CONFLICT_NOTICE,
  findContradiction,
  toolTurnsIn,
  conflictWasReported,
} from "../../src/core/policy/contradictions.ts";
import type { Message } from "../../src/core/message.ts";
import { AT, stateAfter, callPart, EVENT } from "../support/states/states-and-events.ts";

type Call = readonly [tool: string, args: Json, claims: Json, outcome?: "failed"];

/** Beats of one call each, whose result is what it claims; or what a person or cairn says in between. */
function stateOf(beats: readonly (Call | string)[]) {
  let state = stateAfter(EVENT.started);
  for (const [index, beat] of beats.entries()) {
    if (typeof beat === "string") {
      const nudge = {
        kind: "RecoveryDecided",
        at: AT,
        rule: "r",
        why: "w",
        action: { kind: "nudge", text: beat },
      } as const;
      state = foldAll(state, [beat.startsWith(CONFLICT_NOTICE) ? nudge : EVENT.messageReceived(beat, String(index))]);
      continue;
    }
    const [tool, args, result, outcome = "succeeded"] = beat;
    const call = `c${state.calls + 1}`;
    const told = { outcome, value: { kind: "inline", json: result }, externalId: null, evidence: "test" } as const;
    const settled: Event = { kind: "ToolResultRecorded", at: AT, call, ...told };
    state = foldAll(state, [EVENT.replied([callPart(tool, args)]), EVENT.intended(call), EVENT.invoked(call), settled]);
  }
  return state;
}

function conflict(...beats: readonly (Call | string)[]) {
  const turns = toolTurnsIn(stateOf(beats).messages, (tool) => tool !== "silent");
  return findContradiction(turns, ({ result }) => (result.kind === "inline" ? (result.json as Claims) : {}));
}

const free = (value: Json): Json => ({ "flight 42 is free": value });
const says = (tool: string, value: Json, args: Json = {}): Call => [tool, args, free(value)];
const [yes, no, other] = [says("search", true), says("book", false), says("look", 7)];

describe("a contradiction", () => {
  test("is two calls that claim different values for one fact, alternately and twice", () => {
    expect(conflict(yes, no, yes, no)).toEqual({
      fact: "flight 42 is free",
      claimed: [
        ["search", true],
        ["book", false],
      ],
    });
    expect(conflict(yes, no)).toBeNull();
    expect(conflict(yes, no, yes)).toBeNull();
  });

  test("may have other calls in between, within the newest six calls", () => {
    const silent: Call = ["silent", {}, {}];
    expect(conflict(yes, no, silent, yes, silent, no)).not.toBeNull();
    expect(conflict(yes, no, silent, yes, silent, silent, no)).toBeNull();
  });

  test("may come from one tool that is called with two arguments", () => {
    const [one, two] = [says("search", true, { by: "name" }), says("search", false, { by: "number" })];
    expect(conflict(one, two, one, two)?.claimed.map(([tool]) => tool)).toEqual(["search", "search"]);
  });

  test("is about one fact: other facts may agree, and the order of names does not matter", () => {
    const seat = (facts: Json): Call => ["seat", {}, facts];
    const meal: Call = ["meal", {}, { row: { b: 2, a: 1 }, meal: "fish" }];
    expect(
      conflict(seat({ row: { a: 1, b: 2 }, meal: "meat" }), meal, seat({ row: { a: 1, b: 2 }, meal: "meat" }), meal)
        ?.fact,
    ).toBe("meal");
    expect(conflict(seat({ row: { a: 1, b: 2 } }), meal, seat({ row: { a: 1, b: 2 } }), meal)).toBeNull();
  });
});

describe("no contradiction", () => {
  test.each<[string, readonly (Call | string)[]]>([
    ["when a fact changes once", [yes, yes, no, no]],
    ["when a fact changes and changes back", [yes, no, no, yes]],
    ["when one of the two calls has come to agree", [yes, no, yes, no, says("search", false)]],
    ["when one call follows a changing world", [says("a", 1), says("b", 2), says("a", 3), says("b", 2)]],
    ["when both calls follow a changing world", [says("a", 1), says("b", 2), says("a", 3), says("b", 4)]],
    [
      "when the same call sees a door open and close",
      [says("door", 1), says("door", 0), says("door", 1), says("door", 0)],
    ],
    ["in failed calls", [yes, ["book", {}, free(false), "failed"], yes, ["book", {}, free(false), "failed"]]],
    ["in calls of tools without claims", [yes, ["silent", {}, free(false)], yes, ["silent", {}, free(false)]]],
    ["after a user message", [yes, no, "try both once more", yes, no]],
    ["after the notice, until it happens again", [yes, no, yes, no, CONFLICT_NOTICE, yes, other]],
  ])("%s", (_, beats) => {
    expect(conflict(...beats)).toBeNull();
  });
});

test("a call without claims contradicts no other", () => {
  const turns = toolTurnsIn(stateOf([yes, no, yes, no]).messages, () => true);
  expect(findContradiction(turns, ({ tool }) => (tool === "search" ? { fact: 1 } : undefined))).toBeNull();
});

test("only a text of cairn counts as notice to the model", () => {
  const [message] = stateOf([`${CONFLICT_NOTICE}.`]).messages.slice(-1) as [Message];
  expect(conflictWasReported([message])).toBe(true);
  expect(conflictWasReported([])).toBe(false);
  expect(conflictWasReported([{ ...message, parts: [] }])).toBe(false);
  expect(conflictWasReported([{ ...message, parts: [{ kind: "reasoning", text: CONFLICT_NOTICE }] as never }])).toBe(
    false,
  );
});

test("the count restarts after the notice, until a user message arrives", () => {
  const told = [yes, no, yes, no, `${CONFLICT_NOTICE}.`] as const;
  expect(conflict(...told, yes, no, yes, no)).not.toBeNull();
  expect(conflictWasReported(stateOf(told).messages)).toBe(true);
  expect(conflictWasReported(stateOf([...told, yes, no]).messages)).toBe(true);
  expect(conflictWasReported(stateOf([...told, "believe the second one"]).messages)).toBe(false);
  // Only cairn tells it: a person who says the same has spoken.
  expect(conflictWasReported(foldAll(stateOf([yes, no]), [EVENT.messageReceived(CONFLICT_NOTICE, "9")]).messages)).toBe(
    false,
  );
});
