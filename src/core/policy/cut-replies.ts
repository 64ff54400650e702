/**
 * Replies that a limit cut. The judgement is made before a reply is recorded, so a reply that was recorded as whole
 * stays whole. A cut reply plans nothing: its calls are not in the event. Its text stays, and the model goes on with
 * it.
 */
import type { EventOf } from "../event.ts";
import { replyMessage } from "../calls/open-calls.ts";
import type { State } from "../state.ts";
import { endOutage } from "./outage.ts";

export function applyCutReply(state: State, event: EventOf<"ModelCallCompleted">): State {
  const messages = event.parts.length === 0 ? state.messages : [...state.messages, replyMessage(state, event)];
  const cutReplies = (state.cutReplies ?? 0) + 1;
  return { ...endOutage(state, event.at), phase: "AwaitingLLM", modelRetries: 0, retryAt: null, messages, cutReplies };
}
