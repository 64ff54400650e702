/**
 * Replies that a limit cut. The judgement is made before a reply is recorded, so a reply that was recorded as whole
 * stays whole. A cut reply plans nothing: its calls are not in the event. Its text stays, and the model goes on with it.
 * Used by `transition.ts`.
 */
import type { EventOf } from "../event.ts";
import { BOUNDS } from "../limits.ts";
import { replyMessage } from "../calls/open-calls.ts";
import type { State } from "../state.ts";
import { endOutage } from "./outage.ts";

/** A reply that was cut, as its event says. */
export interface Cut {
  /** The limit, in the word of the provider. */
  readonly limit: string;
  /** How many calls it proposed, whole or not. None of them runs. */
  readonly calls: number;
}

export function applyCutReply(state: State, event: EventOf<"ModelCallCompleted">): State {
  const messages = event.parts.length === 0 ? state.messages : [...state.messages, replyMessage(state, event)];
  const cutReplies = (state.cutReplies ?? 0) + 1;
  return { ...endOutage(state, event.at), phase: "AwaitingLLM", modelRetries: 0, retryAt: null, messages, cutReplies };
}

/** The state after a reply that is whole, or after an operator let the run go on. */
export function withoutCuts(state: State): State {
  if (state.cutReplies === undefined) return state;
  const { cutReplies: _, ...rest } = state;
  return rest;
}

/** Whether so many replies in a row were cut that the next one would be, too. */
export const isCutTooOften = ({ cutReplies = 0 }: State): boolean => cutReplies > BOUNDS.cutRepliesMax;
