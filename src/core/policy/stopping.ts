/**
 * How a run stops that has to stop, since a budget is exhausted or it loops. The model gets one closing call without
 * tools. Whatever it answers, the run ends with the failure that it stopped for.
 */
import type { EventOf, Failure } from "../event.ts";
import { ensure } from "../ensure.ts";
import { BOUNDS } from "../limits.ts";
import { text, wordsOf } from "../message.ts";
import { message, replyMessage } from "../calls/open-calls.ts";
import type { State } from "../state.ts";

/** Moves the run to `ForceStop`. The model sees the reason, so its closing text is about this end. */
export function beginStopping(state: State, cause: { failure: Failure; text: string; at: number }): State {
  ensure(state.open.length === 0, "a run stops between its calls");
  const said = message(state, cause.at, "cairn", "user", [text(cause.text)]);
  return { ...state, phase: "ForceStop", stopsFor: cause.failure, retryAt: null, messages: [...state.messages, said] };
}

/** Ends the run after the closing call. Proposed calls are dropped; the text joins the transcript and the failure. */
export function applyClosingReply(state: State, event: EventOf<"ModelCallCompleted">): State {
  const { stopsFor, ending } = state;
  ensure(stopsFor !== undefined && ending === null, "a run has its closing call once");
  const parts = event.parts.filter(({ kind }) => kind !== "call");
  const spoken = parts.length === 0 ? state : withReply(state, { ...event, parts });
  const said = wordsOf(spoken.messages.slice(state.messages.length).flatMap((each) => each.parts)).trim();
  const failure = said === "" ? stopsFor : withWords(stopsFor, event.cut === undefined ? said : `${said} … (cut)`);
  return { ...spoken, ending: { kind: "failed", failure } };
}

const withReply = (state: State, event: EventOf<"ModelCallCompleted">): State => ({
  ...state,
  messages: [...state.messages, replyMessage(state, event)],
});

function withWords(failure: Failure, said: string): Failure {
  const max = BOUNDS.lastWordsCharactersMax;
  const shown = said.length > max ? `${said.slice(0, max).toWellFormed()} …` : said;
  return { ...failure, message: `${failure.message}. Its last words: ${shown}` };
}
