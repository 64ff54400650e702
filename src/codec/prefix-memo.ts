/**
 * Derives something from a growing transcript, and pays only for the messages that are new since the last time. The
 * messages themselves tell how much of the last result still holds, so a transcript that was cut, or that begins
 * otherwise, is derived anew.
 */
import type { Message } from "../core/message.ts";

/** How the result is made: `add` changes a copy of the result of the messages before. */
export interface Growing<T> {
  readonly start: () => T;
  readonly copy: (result: T) => T;
  readonly add: (result: T, message: Message) => void;
}

/** Messages never change, so equal objects have equal results. The caller must not change what it gets. */
export function prefixMemo<T>({ start, copy, add }: Growing<T>): (messages: readonly Message[]) => T {
  const known = new WeakMap<Message, { given: readonly Message[]; messages: Message[]; result: T }>();
  return (messages) => {
    const [first] = messages;
    const last = first === undefined ? undefined : known.get(first);
    // Lists only grow, and most calls of a beat give that of the last time: it is not compared again.
    const isGiven = messages === last?.given && messages.length >= last.messages.length;
    const isPrefix = last !== undefined && (isGiven || beginsWith(messages, last.messages));
    if (isPrefix && last.messages.length === messages.length) return last.result;
    const result = isPrefix ? copy(last.result) : start();
    // A list of its own, which grows: the caller may append to the one that it gave.
    const read = isPrefix ? last.messages : [];
    const added = messages.slice(read.length);
    for (const message of added) add(result, message);
    for (const message of added) read.push(message);
    if (first !== undefined) known.set(first, { given: messages, messages: read, result });
    return result;
  };
}

/** In a loop, without a function: it looks at each message of the run, many times per beat. */
function beginsWith(messages: readonly Message[], prefix: readonly Message[]): boolean {
  for (let index = 0; index < prefix.length; index += 1) if (messages[index] !== prefix[index]) return false;
  return true;
}
