/** What a move of a topology changes in the state: the progress, the phase, and what the model sees. */
import { fold, foldAll } from "../../../src/features/compose.ts";
import { expect, test } from "vitest";
import type { EventOf } from "../../../src/core/event.ts";
import { messagesOfSection, visibleMessages } from "../../../src/core/policy/window.ts";
import { applyCrack } from "../../../src/core/topologies/moved.ts";
import { AT, IN_PHASE, callPart, eventOf, textPart, EVENT } from "../../support/states/states-and-events.ts";

const move = (change: Partial<EventOf<"TopologyMoved">> = {}): EventOf<"TopologyMoved"> => ({
  ...(eventOf("TopologyMoved", "AwaitingLLM") as EventOf<"TopologyMoved">),
  ...change,
});
const shown = (state: Parameters<typeof visibleMessages>[0]): readonly string[] =>
  visibleMessages(state).map(({ source }) => source);

test("a section hides what came before it, apart from the task and what users said; the transcript keeps it", () => {
  const before = foldAll(IN_PHASE.AwaitingLLM(), [
    EVENT.replied([textPart("a draft")]),
    EVENT.messageReceived("in German, please"),
  ]);
  const state = fold(before, move());
  expect(shown(state)).toEqual(["task", "user:ada", "cairn:section"]);
  expect(state.messages).toHaveLength(before.messages.length + 1);
  expect(messagesOfSection(state).map(({ source }) => source)).toEqual(["cairn:section"]);
  expect(state).toMatchObject({ phase: "AwaitingLLM", topology: { kind: "pipeline", from: before.messages.length } });
});

test("a message without a section joins what the model sees", () => {
  const begun = fold(IN_PHASE.AwaitingLLM(), move());
  const { section: _, ...told } = move({ text: "JSON, please" });
  expect(shown(fold(begun, told))).toEqual(["task", "cairn:section", "cairn"]);
  expect(fold(begun, told).topology).toMatchObject({ from: begun.topology?.from });
});

test("a topology that has finished is judged, and a user who writes then opens the run again", () => {
  const answered = foldAll(IN_PHASE.AwaitingLLM(), [move(), EVENT.replied([textPart("a draft")])]);
  const { text: _, section: _opens, ...finished } = move({ final: "m3" });
  const state = fold(answered, finished);
  expect(state).toMatchObject({ phase: "Reflecting", topology: { final: "m3" } });
  expect(fold(state, EVENT.messageReceived("shorter"))).toMatchObject({
    phase: "AwaitingLLM",
    topology: { final: "m3" },
  });
});

test("no move happens while a call is open, and no section opens without a message", () => {
  expect(() => fold(fold(IN_PHASE.AwaitingLLM(), EVENT.replied([callPart("book")])), move())).toThrow("TopologyMoved");
  const { text: _, ...silent } = move();
  expect(() => fold(IN_PHASE.AwaitingLLM(), silent)).toThrow("a message opens a section");
});

test("a signal is remembered with its number and its section", () => {
  const seen = { times: 2, at: AT, why: "again", section: 3 };
  const state = applyCrack(IN_PHASE.AwaitingLLM(), { kind: "CrackSignalled", crack: "runaway", ...seen });
  expect(state.cracks).toEqual({ runaway: seen });
});
