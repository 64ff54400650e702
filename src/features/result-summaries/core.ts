/**
 * Which results get a summary next, and what the summary changes. The transcript alone says which have one, so a resumed
 * run and a fork ask for no second one.
 */
import type { EventRows } from "../../core/features.ts";
import type { ResultSummaryEvents } from "../../core/result-summary.ts";
import { message } from "../../core/calls/open-calls.ts";
import type { LargeValue } from "../../core/calls/stored-values.ts";
import { ensure } from "../../core/ensure.ts";
import type { EventOf } from "../../core/event.ts";
import { type Message, text } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import { visibleMessages } from "../../core/policy/window.ts";

/** The source of the message that stands beside the result of that call. */
const sourceFor = (call: string): string => `cairn:summary:${call}`;

/** How the request for the summary of that result begins. */
export const summaryHeadline = (call: string): string => `Summarise the result of the call ${call}.`;

/** The call of such a request; undefined for any other text. */
export const summarisedCall = (request: string): string | undefined =>
  /^Summarise the result of the call (\S+)\. /.exec(request)?.[1];

/** A result of a call that is too long to show. */
export interface LargeResult {
  readonly call: string;
  readonly tool: string;
  readonly value: LargeValue;
}

/** The results since the last reply that are too long to show and have no summary, in the order of the transcript. */
export function unsummarised(state: Pick<State, "messages" | "window">): readonly LargeResult[] {
  const shown = visibleMessages(state);
  const fresh = shown.slice(shown.findLastIndex(({ role }) => role === "assistant") + 1);
  return fresh
    .flatMap(({ parts }) => parts)
    .flatMap((part): LargeResult[] => {
      if (part.kind !== "result" || part.value.kind !== "blob" || isSummarised(fresh, part.call)) return [];
      return [{ call: part.call, tool: part.tool, value: part.value }];
    });
}

const isSummarised = (messages: readonly Message[], call: string): boolean =>
  messages.some(({ source }) => source === sourceFor(call));

/** Appends the summary. The model is called next, as before. */
function applyResultSummary(state: State, { at, call, summary, tokens }: EventOf<"ResultSummarised">): State {
  ensure(!isSummarised(state.messages, call), `the result of call ${call} has a summary already`);
  return {
    ...state,
    messages: [...state.messages, message(state, at, sourceFor(call), "user", [text(summary)], tokens)],
  };
}

/** The events of this feature: in which phases each may happen, and what it changes. */
export const RESULT_SUMMARY_EVENTS: EventRows<keyof ResultSummaryEvents> = {
  ResultSummarised: { in: ["AwaitingLLM", "RetryingLLM"], apply: applyResultSummary },
};
