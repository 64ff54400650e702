/**
 * Chooses the range of messages that a summary may replace. The range ends in front of a reply, so no call is separated
 * from its result. The last reply is never part of it. The messages before that reply fitted into a request already, so
 * the request for the summary fits too.
 */
import { canonical } from "../../codec/canonical.ts";
import { SIZES } from "../../codec/limits.ts";
import { type Message, type Part, wordsOf } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import { SECTION } from "../../core/topologies/moved.ts";
import { SUMMARY, indexOf, visibleMessages } from "../../core/policy/window.ts";

/** A range of shown messages that a summary may replace. */
export interface CompactionRange {
  /** The index of the first message after the range. */
  readonly from: number;
  /** The messages that the model reads to write the summary: all that is shown up to the end of the range. */
  readonly read: readonly Message[];
  /** IDs of messages in the range that stay as they are. */
  readonly stays: readonly string[];
  /** Characters that the summary will replace, and characters of all that is shown. */
  readonly replaces: number;
  readonly shows: number;
}

/** The newest messages stay up to this share of what is shown. The last reply with its results always stays. */
const KEPT_SHARE = 1 / 4;
/** A context that is not too long yet is compacted only if the range is at least this share of it. */
const WORTH_SHARE = 1 / 2;

/**
 * The range to replace, or null. Null if nothing is left to summarise. Null also if a summary was made since the last
 * reply; a context that is still too long then stays so.
 */
export function compactionRangeOf(state: State): CompactionRange | null {
  const { messages, window } = state;
  if (isCompacted(messages)) return null;
  const all = visibleMessages(state);
  const from = endOf(state, all);
  if (from <= (window?.from ?? 1)) return null;
  const read = all.filter((message) => message.source === SUMMARY || placeOf(message) < from);
  const stays = read.slice(1).filter(staysIn(state, read));
  const replaced = read.slice(1).filter((message) => !stays.includes(message));
  if (replaced.every(({ source }) => source === SUMMARY)) return null;
  return { from, read, stays: stays.map(({ id }) => id), replaces: lengthOf(replaced), shows: lengthOf(all) };
}

/** Whether a summary is worth its price before the provider refuses the context. */
export const isWorthCompacting = ({ replaces, shows }: CompactionRange): boolean => replaces >= shows * WORTH_SHARE;

/** Whether a summary is newer than the last reply. Another summary would then be made of the same messages. */
const isCompacted = (messages: readonly Message[]): boolean =>
  messages.findLastIndex(({ source }) => source === SUMMARY) >
  messages.findLastIndex(({ role }) => role === "assistant");

/** The end of the range: in front of the earliest reply after which the remaining messages are few and short enough. */
function endOf({ messages }: State, all: readonly Message[]): number {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const replies = all.filter(({ role }) => role === "assistant").map(placeOf);
  const room = lengthOf(all) * KEPT_SHARE;
  const fits = (from: number): boolean => {
    const kept = all.filter((message) => message.source !== SUMMARY && placeOf(message) >= from);
    return kept.length <= SIZES.keptMessages && lengthOf(kept) <= room;
  };
  return replies.find(fits) ?? last;
}

/**
 * Messages that stay: the one that opens the section, replies with calls that are open or may have to be undone, with
 * their results, and user messages that no text of the model has followed.
 */
function staysIn({ open, undo = [] }: State, read: readonly Message[]): (message: Message) => boolean {
  const needed = new Set([...open, ...undo].map(({ call }) => call));
  const replies = read.filter(({ role, parts }) => role === "assistant" && parts.some((part) => isOf(needed, part)));
  const together = new Set(
    replies.flatMap(({ parts }) => parts.flatMap((part) => ("call" in part ? [part.call] : []))),
  );
  const answered = read.findLastIndex(({ role, parts }) => role === "assistant" && wordsOf(parts).trim() !== "");
  const unanswered = new Set(read.slice(answered + 1).filter(({ source }) => source.startsWith("user:")));
  return (message) =>
    unanswered.has(message) || message.source === SECTION || message.parts.some((part) => isOf(together, part));
}

const isOf = (calls: ReadonlySet<string>, part: Part): boolean => "call" in part && calls.has(part.call);

const placeOf = ({ id }: Message): number => indexOf(id);

/** The length of these messages in characters of canonical JSON. */
export const lengthOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, { parts }) => sum + canonical(parts).length, 0);
