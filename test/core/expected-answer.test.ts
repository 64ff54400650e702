/** A child that would end without the answer that its parent expects. */
import { expect, test } from "vitest";
import { InvariantViolated } from "../../src/core/ensure.ts";
import { mayTryAgain, messagesOfOthers, returnAnswer } from "../../src/core/policy/expected-answer.ts";
import type { State } from "../../src/core/state.ts";
import { IN_PHASE } from "../support/states/states-and-events.ts";

/** Its call c3 may have acted outside. */
const acted = (change: Partial<State> = {}): State => ({ ...IN_PHASE.ExecutingTools(), ...change });
const expected = (change: object = {}): NonNullable<State["expected"]> => ({ tries: 3, ...change }) as never;

test("goes on with its next try if it acted outside and has tries left", () => {
  expect({
    first: mayTryAgain(acted({ expected: expected() })),
    second: mayTryAgain(acted({ expected: expected({ returned: 1 }) })),
    last: mayTryAgain(acted({ expected: expected({ returned: 2 }) })),
    awaited: mayTryAgain(acted()),
    hasActed: mayTryAgain({ ...IN_PHASE.AwaitingLLM(), expected: expected() }),
  }).toEqual({ first: true, second: true, last: false, awaited: false, hasActed: false });
});

test("counts each answer that went back to its model, and says why", () => {
  const once = returnAnswer(acted({ expected: expected() }), "no words");
  expect(once).toEqual({
    ...acted(),
    expected: { ...expected(), returned: 1, after: { failure: { code: "AnswerLost", message: "no words" } } },
  });
  expect(returnAnswer(once, "not again").expected).toMatchObject({ returned: 2 });
  expect(() => returnAnswer(acted(), "nobody waits")).toThrow(InvariantViolated);
});

test("what cairn says to its model is no progress", () => {
  const [message] = IN_PHASE.AwaitingLLM().messages;
  if (message === undefined) throw new Error("a run begins with its task");
  const from = (...sources: readonly string[]) =>
    acted({ messages: sources.map((source) => ({ ...message, source })) });
  expect(messagesOfOthers(from("task", "cairn", "user:ada", "cairn"))).toBe(2);
});
