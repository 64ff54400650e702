/** In which order a model reads its transcript when somebody spoke in the middle of it. */
import { expect, test } from "vitest";
import { promptOf } from "../../src/engine/model/prompt.ts";
import { foldAll } from "../../src/core/transition.ts";
import { after, calls, heard, intended, invoked, replied, resulted, says, startedEvent } from "../support/build.ts";

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
  startedEvent,
  replied([calls("a"), calls("b")]),
  intended("c1"),
  invoked("c1"),
  intended("c2"),
  invoked("c2"),
];

test("all results of a reply follow it in one message, and words that came in between follow them", () => {
  const state = after(...released, heard("first", "u1"), resulted("c2"), heard("second", "u2"), resulted("c1"));
  expect(state.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "tool", "user", "tool"]);
  expect(shape(state.messages)).toEqual([TASK, "assistant: c1 c2", "tool: c2 c1", "user: first", "user: second"]);
});

test("words after the results stay after them, and the next reply's results follow the next reply", () => {
  const state = after(...released, resulted("c1"), resulted("c2"), heard("then", "u1"));
  const next = foldAll(state, [
    replied([says("well"), calls("c")]),
    heard("late", "u2"),
    intended("c3"),
    resulted("c3"),
  ]);
  expect(shape(next.messages)).toEqual([
    ...[TASK, "assistant: c1 c2", "tool: c1 c2", "user: then"],
    ...["assistant: well c3", "tool: c3", "user: late"],
  ]);
});

test("words before any call are where they were said", () => {
  expect(shape(after(startedEvent, heard("hello"), replied([says("hi")])).messages)).toEqual([
    ...[TASK, "user: hello", "assistant: hi"],
  ]);
});
