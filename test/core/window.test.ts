/** What the model sees of a transcript after a summary. */
import { expect, test } from "vitest";
import { type Message, text } from "../../src/core/message.ts";
import { SUMMARY, messagesOfRestart, visibleMessages } from "../../src/core/policy/window.ts";
import { foldAll } from "../../src/core/transition.ts";
import { after, compacted, compacting, heard, replied, says, startedEvent } from "../support/build.ts";

const message = (id: string, source: string): Message => ({
  ...{ id, source, at: 0, role: "user", tokens: 0 },
  parts: [text(id)],
});
const messages = [message("m1", "task"), message("m2", "user:a"), message("m3", SUMMARY), message("m4", "user:b")];
const idsOf = (lead: readonly string[], from: number) =>
  visibleMessages({ messages, window: { from, lead } }).map(({ id }) => id);

test("shows a summary in the lead alone, and each message once", () => {
  expect(idsOf(["m3"], 2)).toEqual(["m1", "m3", "m4"]);
  expect(idsOf(["m4"], 1)).toEqual(["m1", "m4", "m2"]);
  expect(idsOf([], 1)).toEqual(["m1", "m2", "m4"]);
});

test("leaves out a name in the lead that is no message", () => {
  expect(idsOf(["m9", "m3"], 3)).toEqual(["m1", "m3", "m4"]);
});

test("keeps the text of the summary", () => {
  const before = after(startedEvent, heard("a"), heard("b", "u2"), heard("c", "u3"));
  const event = compacted(before);
  const last = foldAll(before, [compacting, event]).messages.at(-1);
  expect(last).toMatchObject({ source: SUMMARY, parts: [{ kind: "text", text: event.summary }] });
});

test("counts only the messages of the present restart", () => {
  const state = after(startedEvent, heard("a"), replied([says("b")]));
  expect(messagesOfRestart(state)).toEqual(state.messages);
  expect(messagesOfRestart({ ...state, attemptFrom: 1 })).toEqual(state.messages.slice(1));
});
