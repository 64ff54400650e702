/** Calls on their way through the state: from proposed to settled, in any order, with answers and silences. */
import { fold, foldAll } from "../../src/features/compose.ts";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/core/event.ts";
import { inline } from "../../src/core/message.ts";
import type { State } from "../../src/core/state.ts";
import { AT, IN_PHASE, stateAfter, answer, callPart, EVENT, withCalls } from "../support/states/states-and-events.ts";

const statuses = ({ open }: State): string => open.map(({ call, status }) => `${call} ${status}`).join(", ");

const THREE = [EVENT.started, EVENT.replied([callPart("a"), callPart("b"), callPart("c")])];

describe("several calls of one reply", () => {
  const ends: readonly (readonly [string, string, string])[] = [
    ["c1", "c2", "c3"],
    ["c1", "c3", "c2"],
    ["c2", "c1", "c3"],
    ["c2", "c3", "c1"],
    ["c3", "c1", "c2"],
    ["c3", "c2", "c1"],
  ];

  test.each(ends)("settle in any order: %s, %s, %s; the last one closes the batch", (...order) => {
    let state = stateAfter(...THREE);
    for (const [index, call] of order.entries()) {
      expect(state.phase).toBe("ExecutingTools");
      state = fold(state, EVENT.resulted(call, `result of ${call}`, AT + 10 + index));
    }
    expect(state).toMatchObject({ phase: "AwaitingLLM", open: [] });
    const tools = { c1: "a", c2: "b", c3: "c" } as const;
    expect(state.messages.slice(2)).toEqual(
      order.map((call, index) => ({
        ...{ id: `m${index + 3}`, at: AT + 10 + index, role: "tool", tokens: 0 },
        source: `tool:${tools[call as keyof typeof tools]}`,
        parts: [
          {
            ...{ kind: "result", call, outcome: "succeeded", value: inline(`result of ${call}`), edited: null },
            tool: tools[call as keyof typeof tools],
          },
        ],
      })),
    );
  });

  test("block the run when all remaining ones are unknown, not before", () => {
    const released = (call: string): Event[] => [EVENT.intended(call, "unsafe"), EVENT.invoked(call)];
    const running = foldAll(stateAfter(...THREE), ["c1", "c2", "c3"].flatMap(released));
    const first = fold(running, EVENT.outcomeLost("c1"));
    expect(first.phase).toBe("ExecutingTools");
    const second = fold(first, EVENT.resulted("c2"));
    expect(second.phase).toBe("ExecutingTools");
    const third = fold(second, EVENT.outcomeLost("c3"));
    expect(third.phase).toBe("AwaitingReconcile");
    expect(statuses(third)).toBe("c1 unknown, c3 unknown");
  });
});

describe("a call", () => {
  test("is proposed, intended, started, settled, in this order", () => {
    const proposed = stateAfter(EVENT.started, EVENT.replied([callPart("book")]));
    const intention = fold(proposed, EVENT.intended("c1"));
    expect(intention.open[0]).toMatchObject({
      ...{ status: "proposed", releasedBy: null },
      intent: { effect: "keyed", key: "key-c1", argsDigest: "0".repeat(64) },
    });
    const started = fold(intention, EVENT.invoked("c1", 7));
    expect(started.open[0]).toMatchObject({ status: "started", releasedBy: 7 });
    expect(fold(started, EVENT.resulted("c1")).open).toEqual([]);
  });

  test("is not started without an intent, nor intended twice", () => {
    const proposed = stateAfter(EVENT.started, EVENT.replied([callPart("book")]));
    expect(() => fold(proposed, EVENT.invoked("c1"))).toThrow("call c1 is started without an intent");
    const started = foldAll(proposed, [EVENT.intended("c1"), EVENT.invoked("c1")]);
    expect(() => fold(started, EVENT.intended("c1"))).toThrow("call c1 is started already");
  });

  test.each(["none", "keyed"] as const)("of effect %s is released again by the next owner, with its key", (effect) => {
    const started = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("book")]),
      EVENT.intended("c1", effect),
      EVENT.invoked("c1", 1),
    );
    expect(fold(started, EVENT.invoked("c1", 2)).open[0]).toMatchObject({ releasedBy: 2, intent: { key: "key-c1" } });
  });

  test("of effect unsafe is not released twice", () => {
    const started = stateAfter(
      EVENT.started,
      EVENT.replied([callPart("book")]),
      EVENT.intended("c1", "unsafe"),
      EVENT.invoked("c1", 1),
    );
    expect(() => fold(started, EVENT.invoked("c1", 2))).toThrow("unsafe call c1 is released twice");
  });

  test("counts its tries that timed out", () => {
    const again = EVENT.decided({ kind: "again", call: "c3" });
    expect(foldAll(withCalls(), [again, again]).open[2]).toMatchObject({ call: "c3", attempts: 2, status: "started" });
  });

  test("that needs no answer is reported to the model as unknown", () => {
    const state = fold(withCalls(), EVENT.outcomeLost("c3", null));
    expect(state.open.map(({ call }) => call)).toEqual(["c1", "c2", "c4", "c5"]);
    expect(state.messages.at(-1)?.parts).toMatchObject([
      { call: "c3", outcome: "unknown", value: inline("no answer") },
    ]);
  });
});

describe("an unknown call", () => {
  const blocked = IN_PHASE.AwaitingReconcile();

  test("counts the question and stores from when it can be answered", () => {
    expect(blocked.open[0]).toMatchObject({
      status: "unknown",
      timesUnknown: 1,
      reconcilableFrom: AT + 9,
      answer: null,
    });
  });

  test("is released by an answer and by nothing else", () => {
    const keyed = foldAll(withCalls(), [EVENT.outcomeLost("c3")]);
    expect(() => fold(keyed, EVENT.invoked("c3", 2))).toThrow("call c3 is unknown");
    expect(() => fold(withCalls(), EVENT.reconciled("c3"))).toThrow("the outcome of call c3 is not in question");
  });

  test("schedule 42: keeps an answer in the state until it is applied", () => {
    const answered = fold(blocked, EVENT.answerTaken("c1", 1, answer("retry")));
    expect(answered).toMatchObject({ phase: "AwaitingReconcile", absorbed: ["reconcile#c1#1"] });
    expect(answered.open[0]).toMatchObject({ status: "unknown", answer: answer("retry") });
  });

  test("*succeeded* and *failed* settle it, with the value or the text of the operator", () => {
    const value = (given: ReturnType<typeof answer>) =>
      fold(blocked, EVENT.reconciled("c1", given)).messages.at(-1)?.parts;
    expect(value(answer("succeeded", { pnr: "X" }))).toMatchObject([
      { outcome: "succeeded", value: inline({ pnr: "X" }) },
    ]);
    expect(value({ ...answer("failed"), note: "I called them" as never })).toMatchObject([
      { outcome: "failed", value: inline("I called them") },
    ]);
    expect(value(answer("failed"))).toMatchObject([
      { outcome: "failed", value: inline("a person says that it failed") },
    ]);
    expect(fold(blocked, EVENT.reconciled("c1", answer("succeeded"))).phase).toBe("AwaitingApproval");
  });

  test("*retry* permits one more release of an unsafe call, with its key", () => {
    const permitted = fold(blocked, EVENT.reconciled("c1", answer("retry")));
    expect(permitted.phase).toBe("ExecutingTools");
    expect(permitted.open[0]).toMatchObject({
      ...{ status: "permitted", releasedBy: null, answer: null, reconcilableFrom: null, timesUnknown: 1 },
      intent: { key: "key-c1" },
    });
    const released = fold(permitted, EVENT.invoked("c1", 3));
    expect(released.open[0]).toMatchObject({ status: "started", releasedBy: 3 });
    expect(() => fold(released, EVENT.invoked("c1", 4))).toThrow("released twice");
  });

  test("schedule 18: an answer to its first question is not an answer to its second", () => {
    const again = foldAll(blocked, [EVENT.reconciled("c1"), EVENT.invoked("c1", 3), EVENT.outcomeLost("c1")]);
    expect(again.open[0]).toMatchObject({ timesUnknown: 2 });
    expect(fold(again, EVENT.answerTaken("c1", 1)).open[0]).toMatchObject({ answer: null });
    expect(fold(again, EVENT.answerTaken("c1", 2)).open[0]).toMatchObject({ answer: answer("retry") });
  });
});

describe("messages", () => {
  const blocked = IN_PHASE.AwaitingReconcile();

  test("are absorbed once, and forgotten when their items are deleted", () => {
    const absorbed = fold(blocked, EVENT.answerTaken("c1"));
    expect(() => fold(absorbed, EVENT.answerTaken("c1"))).toThrow("message reconcile#c1#1 is absorbed twice");
    const cleared: Event = { kind: "MessageAbsorbed", at: AT, stage: "cleared", message: "reconcile#c1#1" };
    expect(fold(absorbed, cleared)).toMatchObject({ absorbed: [] });
    expect(fold(absorbed, cleared).open).toEqual(absorbed.open);
  });

  test("to an unknown call change nothing except the list of absorbed IDs", () => {
    expect(fold(blocked, EVENT.answerTaken("c9"))).toEqual({ ...blocked, absorbed: ["reconcile#c9#1"] });
  });
});
