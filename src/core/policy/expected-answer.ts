/** The answer that the parent of a run expects, and what the run does instead of ending without it. */
import { ownWork } from "../calls/outside.ts";
import { ensure } from "../ensure.ts";
import type { State } from "../state.ts";

/** A child that acted outside, and has tries left. Another child for its call would act under other keys. */
export function mayTryAgain(state: State): boolean {
  const { expected } = state;
  return expected !== undefined && (expected.returned ?? 0) + 1 < expected.tries && ownWork(state) !== undefined;
}

/** What cairn says to a model is no progress. */
export const messagesOfOthers = ({ messages }: State): number =>
  messages.filter(({ source }) => source !== "cairn").length;

/** The answer of a child goes back to its model. */
export function returnAnswer(state: State, why: string): State {
  const { expected } = state;
  ensure(expected !== undefined, "a run waits for the answer");
  const after = { failure: { code: "AnswerLost", message: why } };
  return { ...state, expected: { ...expected, returned: (expected.returned ?? 0) + 1, after } };
}
