/** The closing call of a run that has to stop: what the model reads, and what becomes of its reply. */
import { describe, expect, test } from "vitest";
import type { ReplyPart } from "../../src/core/event.ts";
import { BOUNDS } from "../../src/core/limits.ts";
import { applyClosingReply, beginStopping } from "../../src/core/policy/stopping.ts";
import { AT, FAILURE, after, calls, replied, says, startedEvent, stopped, withCalls } from "../support/build.ts";

const asked = () => after(startedEvent, stopped);
const closedWith = (...parts: readonly ReplyPart[]) => applyClosingReply(asked(), replied(parts));
const failureOf = (words: string) => {
  const { ending } = closedWith(says(words));
  return ending?.kind === "failed" ? ending.failure.message : null;
};

describe("before the closing call", () => {
  test("the model reads why it has to stop", () => {
    const last = asked().messages.at(-1);
    expect(last).toMatchObject({ source: "cairn", role: "user", parts: [says("You have to stop now.")] });
  });

  test("no call may be open", () => {
    expect(() => beginStopping(withCalls(), { failure: FAILURE, say: "Stop.", at: AT })).toThrow(/between its calls/);
  });
});

describe("after the closing call", () => {
  test("its words stay in the transcript, and calls that were not offered do not", () => {
    const { messages, ending } = closedWith(says(" I found a flight. "), calls("book"));
    expect(messages.slice(asked().messages.length).map(({ parts }) => parts)).toEqual([[says(" I found a flight. ")]]);
    expect(ending).toEqual({
      kind: "failed",
      failure: { code: "Broken", message: "it broke. Its last words: I found a flight." },
    });
  });

  test("a reply without words leaves the failure as it was, and one of calls alone adds no message", () => {
    expect(closedWith(says(" ")).ending).toEqual({ kind: "failed", failure: FAILURE });
    const silent = closedWith(calls("book"));
    expect([silent.messages, silent.ending]).toEqual([asked().messages, { kind: "failed", failure: FAILURE }]);
  });

  test("the failure quotes so many characters and no more", () => {
    const max = BOUNDS.lastWordsCharactersMax;
    expect(failureOf("a".repeat(max))).toBe(`it broke. Its last words: ${"a".repeat(max)}`);
    expect(failureOf("a".repeat(max + 1))).toBe(`it broke. Its last words: ${"a".repeat(max)} …`);
  });

  test("no second one may follow, and none may come to a run that does not stop", () => {
    expect(() => applyClosingReply(closedWith(says("x")), replied([says("y")]))).toThrow(/once/);
    expect(() => applyClosingReply(after(startedEvent), replied([says("y")]))).toThrow(/once/);
  });
});
