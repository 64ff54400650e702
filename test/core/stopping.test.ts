/** The closing call of a run that has to stop: what the model reads, and what becomes of its reply. */
import { describe, expect, test } from "vitest";
import type { ReplyPart } from "../../src/core/event.ts";
import { BOUNDS } from "../../src/core/limits.ts";
import { applyClosingReply, beginStopping } from "../../src/core/policy/stopping.ts";
import { AT, FAILURE, stateAfter, callPart, textPart, withCalls, EVENT } from "../support/states/states-and-events.ts";

const asked = () => stateAfter(EVENT.started, EVENT.stopDecided);
const closedWith = (...parts: readonly ReplyPart[]) => applyClosingReply(asked(), EVENT.replied(parts));
const failureOf = (words: string) => {
  const { ending } = closedWith(textPart(words));
  return ending?.kind === "failed" ? ending.failure.message : null;
};

describe("before the closing call", () => {
  test("the model gets the reason of the stop", () => {
    const last = asked().messages.at(-1);
    expect(last).toMatchObject({ source: "cairn", role: "user", parts: [textPart("You have to stop now.")] });
  });

  test("no call may be open", () => {
    expect(() => beginStopping(withCalls(), { failure: FAILURE, text: "Stop.", at: AT })).toThrow(/between its calls/);
  });
});

describe("after the closing call", () => {
  test("its text stays in the transcript, and calls that were not offered do not", () => {
    const { messages, ending } = closedWith(textPart(" I found a flight. "), callPart("book"));
    expect(messages.slice(asked().messages.length).map(({ parts }) => parts)).toEqual([
      [textPart(" I found a flight. ")],
    ]);
    expect(ending).toEqual({
      kind: "failed",
      failure: { code: "Broken", message: "it broke. Its last words: I found a flight." },
    });
  });

  test("words that a limit cut are marked as such", () => {
    const cut = { ...EVENT.replied([textPart("I found")]), cut: { limit: "max_tokens", calls: 0 } };
    expect(applyClosingReply(asked(), cut).ending).toMatchObject({
      failure: { message: "it broke. Its last words: I found … (cut)" },
    });
  });

  test("a reply without text leaves the failure unchanged, and one with calls alone adds no message", () => {
    expect(closedWith(textPart(" ")).ending).toEqual({ kind: "failed", failure: FAILURE });
    const silent = closedWith(callPart("book"));
    expect({ messages: silent.messages, ending: silent.ending }).toEqual({
      messages: asked().messages,
      ending: { kind: "failed", failure: FAILURE },
    });
  });

  test("the failure quotes a bounded number of characters", () => {
    const max = BOUNDS.lastWordsCharactersMax;
    expect(failureOf("a".repeat(max))).toBe(`it broke. Its last words: ${"a".repeat(max)}`);
    expect(failureOf("a".repeat(max + 1))).toBe(`it broke. Its last words: ${"a".repeat(max)} …`);
  });

  test("no second closing call may follow, and none may happen in a run that does not stop", () => {
    expect(() => applyClosingReply(closedWith(textPart("x")), EVENT.replied([textPart("y")]))).toThrow(/once/);
    expect(() => applyClosingReply(stateAfter(EVENT.started), EVENT.replied([textPart("y")]))).toThrow(/once/);
  });
});
