/** The order in which a model reads its transcript when user messages arrive in the middle of it. */
import { foldAll } from "../../src/features/compose.ts";
import { expect, test } from "vitest";
import { promptOf } from "../../src/engine/model/prompt.ts";
import { stateAfter, callPart, textPart, EVENT } from "../support/states/states-and-events.ts";

const shape = (messages: Parameters<typeof promptOf>[1]): readonly string[] =>
  promptOf("", messages).map(({ role, content }) => {
    const parts = typeof content === "string" ? [] : content;
    const words = parts.map((part) =>
      part.type === "text" ? part.text : "toolCallId" in part ? part.toolCallId : part.type,
    );
    return `${role}: ${words.join(" ")}`;
  });

const TASK = 'user: {"to":"Lisbon"}';
const released = [
  EVENT.started,
  EVENT.replied([callPart("a"), callPart("b")]),
  EVENT.intended("c1"),
  EVENT.invoked("c1"),
  EVENT.intended("c2"),
  EVENT.invoked("c2"),
];

test("puts all results of a reply in one message after it, and user messages after the results", () => {
  const state = stateAfter(
    ...released,
    EVENT.messageReceived("first", "u1"),
    EVENT.resulted("c2"),
    EVENT.messageReceived("second", "u2"),
    EVENT.resulted("c1"),
  );
  expect(state.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "tool", "user", "tool"]);
  expect(shape(state.messages)).toEqual([TASK, "assistant: c1 c2", "tool: c2 c1", "user: first", "user: second"]);
});

test("keeps user messages after earlier results, and the next reply's results after the next reply", () => {
  const state = stateAfter(
    ...released,
    EVENT.resulted("c1"),
    EVENT.resulted("c2"),
    EVENT.messageReceived("then", "u1"),
  );
  const next = foldAll(state, [
    EVENT.replied([textPart("well"), callPart("c")]),
    EVENT.messageReceived("late", "u2"),
    EVENT.intended("c3"),
    EVENT.resulted("c3"),
  ]);
  expect(shape(next.messages)).toEqual([
    ...[TASK, "assistant: c1 c2", "tool: c1 c2", "user: then"],
    ...["assistant: well c3", "tool: c3", "user: late"],
  ]);
});

test("keeps user messages before any call where they are", () => {
  expect(
    shape(stateAfter(EVENT.started, EVENT.messageReceived("hello"), EVENT.replied([textPart("hi")])).messages),
  ).toEqual([...[TASK, "user: hello", "assistant: hi"]]);
});
