/** What the model sees of a transcript after a summary. */
import { foldAll } from "../../src/features/compose.ts";
import { expect, test } from "vitest";
import { type Message, text } from "../../src/core/message.ts";
import {
  SUMMARY,
  beginCompaction,
  messagesOfRestart,
  messagesOfSection,
  visibleMessages,
} from "../../src/core/policy/window.ts";
import { stateAfter, textPart, EVENT } from "../support/states/states-and-events.ts";

const message = (id: string, source: string): Message => ({
  ...{ id, source, at: 0, role: "user", tokens: 0 },
  parts: [text(id)],
});
const messages = [message("m1", "task"), message("m2", "user:a"), message("m3", SUMMARY), message("m4", "user:b")];
const idsOf = (lead: readonly string[], from: number) =>
  visibleMessages({ messages, window: { from, lead } }).map(({ id }) => id);

test("shows a summary only in the lead, and each message once", () => {
  expect(idsOf(["m3"], 2)).toEqual(["m1", "m3", "m4"]);
  expect(idsOf(["m4"], 1)).toEqual(["m1", "m4", "m2"]);
  expect(idsOf([], 1)).toEqual(["m1", "m2", "m4"]);
});

test("ignores a name in the lead that matches no message", () => {
  expect(idsOf(["m9", "m3"], 3)).toEqual(["m1", "m3", "m4"]);
});

test("is summarised next, or at that time if the model of summaries failed", () => {
  const before = stateAfter(EVENT.started);
  const failed = { since: 5, attempts: 1 } as never;
  expect(beginCompaction(before, { kind: "compact" })).toStrictEqual({ ...before, phase: "Compacting", retryAt: null });
  expect(beginCompaction(before, { kind: "compact", at: 9, failed })).toStrictEqual({
    ...before,
    phase: "Compacting",
    retryAt: 9,
    failedSummaries: failed,
  });
});

test("keeps the text of the summary", () => {
  const before = stateAfter(
    EVENT.started,
    EVENT.messageReceived("a"),
    EVENT.messageReceived("b", "u2"),
    EVENT.messageReceived("c", "u3"),
  );
  const event = EVENT.compacted(before);
  const last = foldAll(before, [EVENT.compactDecided, event]).messages.at(-1);
  expect(last).toMatchObject({ source: SUMMARY, parts: [{ kind: "text", text: event.summary }] });
});

test("counts only the messages of the present restart", () => {
  const state = stateAfter(EVENT.started, EVENT.messageReceived("a"), EVENT.replied([textPart("b")]));
  // A copy for each question of a beat would be most of the garbage of a long run.
  expect(messagesOfRestart(state)).toBe(state.messages);
  expect(messagesOfSection(state)).toBe(state.messages);
  expect(messagesOfRestart({ ...state, restartedFrom: 1 })).toEqual(state.messages.slice(1));
});
