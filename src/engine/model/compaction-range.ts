/**
 * Which stretch of what a model is shown a summary may stand for. It ends in front of a reply, so no call is parted from
 * its result, and the last reply is never in it: what precedes that reply was in a question that the model could take, so
 * it can take the question for the summary as well.
 */
import { canonical } from "../../codec/canonical.ts";
import { SIZES } from "../../codec/limits.ts";
import { type Message, type Part, wordsOf } from "../../core/message.ts";
import type { State } from "../../core/state.ts";
import { SUMMARY, shown } from "../../core/policy/window.ts";

export interface Stretch {
  /** The index of the first message behind it. */
  readonly from: number;
  /** What the model is shown up to there: the summary is made of it. */
  readonly read: readonly Message[];
  /** What is in it and stays as it is. */
  readonly stays: readonly string[];
  /** Characters of what the summary will stand for, and of all that is shown. */
  readonly replaces: number;
  readonly shows: number;
}

/** Of what is shown the newest messages stay up to this share; the last reply with its results stays in any case. */
const KEPT_SHARE = 1 / 4;
/** A context that is not too long yet is made shorter only by as much. */
const WORTH_SHARE = 1 / 2;

/**
 * Null where nothing is left that a summary could stand for, or where one was made since the last reply: a context that is
 * still too long then stays so.
 */
export function stretchOf(state: State): Stretch | null {
  const { messages, window } = state;
  if (isCompacted(messages)) return null;
  const all = shown(state);
  const from = endOf(state, all);
  if (from <= (window?.from ?? 1)) return null;
  const read = all.filter((message) => message.source === SUMMARY || indexOf(message) < from);
  const stays = read.slice(1).filter(staysIn(state, read));
  const replaced = read.slice(1).filter((message) => !stays.includes(message));
  if (replaced.every(({ source }) => source === SUMMARY)) return null;
  return { from, read, stays: stays.map(({ id }) => id), replaces: lengthOf(replaced), shows: lengthOf(all) };
}

/** Before the provider says that a context is too long, a summary has to be worth its price. */
export const isWorthIt = ({ replaces, shows }: Stretch): boolean => replaces >= shows * WORTH_SHARE;

/** A summary is newer than the last reply: asking again would be asking the same. */
const isCompacted = (messages: readonly Message[]): boolean =>
  messages.findLastIndex(({ source }) => source === SUMMARY) >
  messages.findLastIndex(({ role }) => role === "assistant");

/** In front of the earliest reply from which on few enough messages are left, and short enough ones. */
function endOf({ messages }: State, all: readonly Message[]): number {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const replies = all.filter(({ role }) => role === "assistant").map(indexOf);
  const room = lengthOf(all) * KEPT_SHARE;
  const fits = (from: number): boolean => {
    const kept = all.filter((message) => message.source !== SUMMARY && indexOf(message) >= from);
    return kept.length <= SIZES.keptMessages && lengthOf(kept) <= room;
  };
  return replies.find(fits) ?? last;
}

/** Calls that are open or may have to be undone with all of their reply, and words of persons that no words of the model have followed. */
function staysIn({ open, undo = [] }: State, read: readonly Message[]): (message: Message) => boolean {
  const needed = new Set([...open, ...undo].map(({ call }) => call));
  const replies = read.filter(({ role, parts }) => role === "assistant" && parts.some((part) => isOf(needed, part)));
  const together = new Set(
    replies.flatMap(({ parts }) => parts.flatMap((part) => ("call" in part ? [part.call] : []))),
  );
  const answered = read.findLastIndex(({ role, parts }) => role === "assistant" && wordsOf(parts).trim() !== "");
  const unanswered = new Set(read.slice(answered + 1).filter(({ source }) => source.startsWith("user:")));
  return (message) => unanswered.has(message) || message.parts.some((part) => isOf(together, part));
}

const isOf = (calls: ReadonlySet<string>, part: Part): boolean => "call" in part && calls.has(part.call);

/** Messages are numbered in the order of the transcript. */
const indexOf = ({ id }: Message): number => Number(id.slice(1)) - 1;

const lengthOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, { parts }) => sum + canonical(parts).length, 0);
