/** What a run knows of functions of the language that its code changed (schedule 228). */
import { describe, expect, test } from "vitest";
import {
  isKnownChange,
  isRepeatedChange,
  repeatedChange,
  withChangedIntrinsic,
} from "../../src/core/policy/changed-intrinsics.ts";
import { IN_PHASE } from "../support/states/states-and-events.ts";

const change = (epoch: number, tool: string | null = "book") => ({ intrinsic: "JSON.parse", tool, epoch });
const none = IN_PHASE.AwaitingLLM();
const of = (...changes: readonly ReturnType<typeof change>[]) => changes.reduce(withChangedIntrinsic, none);

describe("a report of a change", () => {
  const state = of(change(3), change(5, "pay"));

  test("is known if it was recorded, or if a later change of the same code was", () => {
    expect({ same: isKnownChange(state, change(3)), older: isKnownChange(state, change(2)) }).toEqual({
      same: true,
      older: true,
    });
    expect({ newer: isKnownChange(state, change(4)), ofOthers: isKnownChange(state, change(3, null)) }).toEqual({
      newer: false,
      ofOthers: false,
    });
    expect(isKnownChange(none, change(3))).toBe(false);
  });

  test("is a second change if the same code changed a function in an earlier epoch", () => {
    expect({ later: isRepeatedChange(state, change(4)), same: isRepeatedChange(state, change(3)) }).toEqual({
      later: true,
      same: false,
    });
    expect({ ofOthers: isRepeatedChange(state, change(9, null)), first: isRepeatedChange(none, change(9)) }).toEqual({
      ofOthers: false,
      first: false,
    });
  });
});

test("a run keeps the newest change of each tool, and everything else", () => {
  const state = of(change(3), change(4, "pay"), change(5));
  expect(state).toEqual({ ...none, changedIntrinsics: [change(4, "pay"), change(5)] });
});

test("a second change says what changed what, and what to do", () => {
  expect(repeatedChange(change(3))).toEqual({
    code: "IntrinsicChanged",
    message:
      "the tool book changed JSON.parse in its process, for the second time; the records of all runs there rely on it, " +
      "so load polyfills with the agent's file, or mend the tool",
  });
});
