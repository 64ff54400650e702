/**
 * The window: the part of the transcript that the model sees. The message list itself stays whole, since checks, the
 * ledger and keys read it. A compaction moves the window, and a summary replaces the messages before it.
 */
import type { Action, EventOf } from "../event.ts";
import { ensure } from "../ensure.ts";
import { type Message, text } from "../message.ts";
import { message } from "../calls/open-calls.ts";
import { endOutage } from "./outage.ts";
import type { State } from "../state.ts";

/** The source of a message that summarises older messages. */
export const SUMMARY = "cairn:summary";

/**
 * The task, the messages that the window leads with, then all from its index on. A summary appears in the lead only.
 */
export function visibleMessages({ messages, window }: Pick<State, "messages" | "window">): readonly Message[] {
  if (window === undefined) return messages;
  const led = new Set(window.lead);
  const tail = messages.slice(window.from).filter(({ id, source }) => source !== SUMMARY && !led.has(id));
  return [...messages.slice(0, 1), ...window.lead.flatMap((id) => messages[indexOf(id)] ?? []), ...tail];
}

/** The index of the message with that ID. Messages are numbered from 1 in the order of the transcript. */
export const indexOf = (id: string): number => Number(id.slice(1)) - 1;

/** The older messages are summarised next, unless the model of summaries failed: then not before `at`. */
export const beginCompaction = (
  state: State,
  { at, failed }: Extract<Action, { readonly kind: "compact" }>,
): State => ({
  ...state,
  phase: "Compacting",
  retryAt: at ?? null,
  ...(failed === undefined ? {} : { failedSummaries: failed }),
});

/** Appends the summary and moves the window. */
export function applyCompaction(state: State, { at, summary, tokens, window }: EventOf<"Compacted">): State {
  const said = message(state, at, SUMMARY, "user", [text(summary)], tokens);
  ensure(window.lead.includes(said.id), "a window leads with its summary");
  ensure(window.from > (state.window?.from ?? 1), "a summary stands for more than the one before it");
  return {
    ...endOutage(state, at),
    phase: "AwaitingLLM",
    modelRetries: 0,
    retryAt: null,
    window,
    messages: [...state.messages, said],
  };
}

/** The messages of the section that the topology opened last: all since the last restart, if it opened none. */
export const messagesOfSection = (state: State): readonly Message[] =>
  messagesFrom(sectionStart(state), state.messages);

/** The index of the first message of that section. */
export const sectionStart = ({ restartedFrom = 0, topology }: Pick<State, "restartedFrom" | "topology">): number =>
  Math.max(restartedFrom, topology?.from ?? 0);

/** The messages since the last restart. The effects of earlier ones were undone or left in place. */
export const messagesOfRestart = ({ messages, restartedFrom = 0 }: State): readonly Message[] =>
  messagesFrom(restartedFrom, messages);

/** A copy of all messages would be most of the garbage of a long run, which asks several times a beat. */
const messagesFrom = (index: number, messages: readonly Message[]): readonly Message[] =>
  index === 0 ? messages : messages.slice(index);
