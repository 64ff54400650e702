/**
 * What the model is shown of the transcript. The message list itself stays whole, since checks, the ledger and keys read
 * it: a compaction moves the window, and a summary stands for what is no longer in it.
 */
import type { EventOf } from "../event.ts";
import { ensure } from "../ensure.ts";
import { type Message, text } from "../message.ts";
import { message } from "../calls/open-calls.ts";
import { answered } from "./outage.ts";
import type { State } from "../state.ts";

export const SUMMARY = "cairn:summary";

/** The task, what the window leads with, then all from its index on; a summary has its place in the lead alone. */
export function shown({ messages, window }: Pick<State, "messages" | "window">): readonly Message[] {
  if (window === undefined) return messages;
  const led = new Map(messages.flatMap((each) => (window.lead.includes(each.id) ? [[each.id, each]] : [])));
  const tail = messages.slice(window.from).filter(({ id, source }) => source !== SUMMARY && !led.has(id));
  return [...messages.slice(0, 1), ...window.lead.flatMap((id) => led.get(id) ?? []), ...tail];
}

export function compacted(state: State, { at, summary, tokens, window }: EventOf<"Compacted">): State {
  const said = message(state, at, SUMMARY, "user", [text(summary)], tokens);
  ensure(window.lead.includes(said.id), "a window leads with its summary");
  ensure(window.from > (state.window?.from ?? 1), "a summary stands for more than the one before it");
  return { ...answered(state, at), phase: "AwaitingLLM", modelRetries: 0, window, messages: [...state.messages, said] };
}

/** What belongs to this attempt: what came of the ones before it was undone, or left. */
export const ofAttempt = ({ messages, attemptFrom = 0 }: State): readonly Message[] => messages.slice(attemptFrom);
