/** The fold of replies that a limit cut: nothing follows from them but another call of the model. */
import { fold, foldAll } from "../../src/features/compose.ts";
import { expect, test } from "vitest";
import { textOf } from "../../src/core/message.ts";
import { isCutTooOften } from "../../src/core/policy/cuts-in-a-row.ts";
import { IN_PHASE, callPart, textPart, EVENT } from "../support/states/states-and-events.ts";

const cutReply = (words = "") => ({
  ...EVENT.replied(words === "" ? [] : [textPart(words)]),
  cut: { limit: "max_tokens", calls: 0 },
});

test("a cut text is no answer, and a reply without one is no empty reply", () => {
  for (const words of ["half", ""]) {
    const after = fold(IN_PHASE.AwaitingLLM(), cutReply(words));
    expect(after).toMatchObject({ phase: "AwaitingLLM", open: [], cutReplies: 1, retryAt: null });
  }
});

test("cuts are counted in a row, and a whole reply ends the count", () => {
  const five = foldAll(
    IN_PHASE.AwaitingLLM(),
    [1, 2, 3, 4, 5].map(() => cutReply("x")),
  );
  expect({ cutReplies: five.cutReplies, isCutTooOften: isCutTooOften(five) }).toEqual({
    cutReplies: 5,
    isCutTooOften: true,
  });
  expect(isCutTooOften({ ...five, cutReplies: 4 })).toBe(false);
  expect(fold(five, EVENT.replied([callPart("look")]))).not.toHaveProperty("cutReplies");
});

test("the text of a message begins with that of the cut replies which it goes on with, also after a person wrote", () => {
  const cut = foldAll(IN_PHASE.AwaitingLLM(), [
    cutReply("one "),
    EVENT.messageReceived("Go on."),
    EVENT.replied([textPart("two")]),
  ]);
  const last = cut.messages.at(-1)?.id ?? "";
  expect(textOf(cut.messages, last)).toBe("one two");
  const apart = foldAll(IN_PHASE.AwaitingLLM(), [
    EVENT.replied([textPart("one ")]),
    EVENT.messageReceived("And?"),
    EVENT.replied([textPart("two")]),
  ]);
  expect(textOf(apart.messages, apart.messages.at(-1)?.id ?? "")).toBe("two");
  expect(textOf(apart.messages, "m99")).toBe("");
});

test("a reply that was recorded before as reaching its limit, and as whole, stays whole", () => {
  expect(fold(IN_PHASE.AwaitingLLM(), { ...EVENT.replied([textPart("all")]), finish: "length" }).phase).toBe(
    "Reflecting",
  );
});
