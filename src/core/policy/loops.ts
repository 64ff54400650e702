/**
 * The loop detector. It reads the transcript alone, so a resumed run sees what the
 * run before the crash saw. Polling that makes progress is no loop, since its results differ.
 */
import { isDenial, isKeyRefusal, isRefusal, isUnknownTool } from "../calls/refusals.ts";
import type { Crack } from "../crack.ts";
import type { Json } from "../json.ts";
import { BOUNDS } from "../limits.ts";
import type { CallOutcome, Message, Value } from "../message.ts";

/** How the newest calls repeat, in words. The text never contains arguments or results. */
export interface Loop {
  readonly crack: Extract<Crack, "runaway" | "oscillation">;
  readonly why: string;
}

/** A settled call of the transcript. */
export interface MadeCall {
  readonly call: string;
  readonly tool: string;
  readonly args: Value;
  readonly outcome: CallOutcome;
  readonly result: Value;
  /** The ID of the message that proposed it. */
  readonly reply: string;
}

/** What an agent says about its own repetitions. */
export interface LoopRules {
  /** This many replies whose calls of one tool all failed or were refused are a loop. */
  readonly failures: number;
  /** Calls of this tool repeat, or fail, until something changes: they are no part of a loop. */
  readonly isExpected: (tool: string) => boolean;
  /** A human decides about each call of this tool. A denial is a word of an operator, so counting begins anew. */
  readonly asksHuman: (tool: string) => boolean;
}

const PLAIN: LoopRules = { failures: BOUNDS.loopFailures, isExpected: () => false, asksHuman: () => false };

/** The loop that the newest calls form; null if they form none. */
export function findLoop(messages: readonly Message[], rules: LoopRules = PLAIN): Loop | null {
  const most = BOUNDS.loopRepeats * Math.max(BOUNDS.loopPeriodMax, rules.failures);
  const replies = newestReplies(messages, { most, leavesOut: ({ tool }) => rules.isExpected(tool) });
  const made = replies.flat().slice(-BOUNDS.loopCalls);
  if (alternates(made, BOUNDS.loopCalls)) {
    const [one, other] = made.slice(-2).map(({ tool }) => tool);
    const why = `its last ${BOUNDS.loopCalls} calls alternated between ${one} and ${other}, each with the same arguments and the same result`;
    return { crack: "oscillation", why };
  }
  // The calls are about to become an oscillation, or to break out of one.
  const isNearlyOne = alternates(made, BOUNDS.loopCalls - 1);
  return (isNearlyOne ? null : repeatedCall(made)) ?? round(replies) ?? failingTool(replies, rules);
}

function repeatedCall(made: readonly MadeCall[]): Loop | null {
  for (const call of made) {
    const times = made.filter((each) => isEqual(each, call)).length;
    if (times < BOUNDS.loopRepeats) continue;
    const why = `of its last ${made.length} calls ${times} were of ${call.tool} with the same arguments and the same result`;
    return { crack: "runaway", why };
  }
  return null;
}

/** The same replies or the same calls again and again, in the same order. Within a reply the order does not count. */
function round(replies: readonly (readonly MadeCall[])[]): Loop | null {
  const inReplies = periodOf(replies, isSameReply);
  if (inReplies === 1) {
    const why = `its last ${BOUNDS.loopRepeats} replies made the same calls, of ${namesIn(replies.at(-1) ?? [])}, with the same results`;
    return { crack: "runaway", why };
  }
  const calls = replies.flat();
  const period = periodOf(calls, isEqual);
  const again = inReplies === null ? calls.slice(-(period ?? 0)) : replies.slice(-inReplies).flat();
  if (inReplies === null && period === null) return null;
  const why = `it went ${BOUNDS.loopRepeats} times through the same ${again.length} calls, of ${namesIn(again)}, with the same results`;
  return { crack: "oscillation", why };
}

/** The shortest period with which the newest entries repeat `loopRepeats` times; null if they do not. */
function periodOf<T>(entries: readonly T[], isSame: (one: T, other: T) => boolean): number | null {
  for (let period = 1; period <= BOUNDS.loopPeriodMax; period += 1) {
    const last = entries.slice(-period * BOUNDS.loopRepeats);
    if (last.length < period * BOUNDS.loopRepeats) return null;
    if (last.slice(period).every((each, index) => isSame(each, last[index] as T))) return period;
  }
  return null;
}

const isSameReply = (one: readonly MadeCall[], other: readonly MadeCall[]): boolean =>
  one.length === other.length && one.every((call) => other.some((each) => isEqual(each, call)));

const namesIn = (made: readonly MadeCall[]): string => [...new Set(made.map(({ tool }) => tool))].join(", ");

/**
 * A tool whose calls all failed or were refused, in `failures` replies, whatever their arguments were. A call of it that
 * succeeds ends the count. A success of another tool, which may have changed something, ends that of errors; it does not
 * end that of refusals, which say nothing about the world. Calls of one reply count once, since the model proposed them
 * before any had a result. Tools that do not exist count as one: a model may make up another name each time.
 */
function failingTool(replies: readonly (readonly MadeCall[])[], { failures, asksHuman }: LoopRules): Loop | null {
  const counts = new Map<string, number>();
  const worked = new Set<string>();
  let hasProgress = false;
  for (const made of replies.toReversed()) {
    if (made.some(({ tool, result }) => asksHuman(tool) && isDenial(result))) return null;
    for (const { tool, outcome } of made) if (outcome === "succeeded") worked.add(tool);
    for (const tool of new Set(made.map(countedAs))) {
      const isCounted = !hasProgress || made.every((call) => countedAs(call) !== tool || wasRefused(call));
      if (worked.has(tool) || !isCounted) continue;
      const count = (counts.get(tool) ?? 0) + 1;
      if (count < failures) counts.set(tool, count);
      else return { crack: "runaway", why: `its calls of ${tool} failed or were refused in ${count} replies in a row` };
    }
    hasProgress ||= made.some(({ outcome }) => outcome === "succeeded");
  }
  return null;
}

const wasRefused = ({ result }: MadeCall): boolean => isRefusal(result) || isKeyRefusal(result);

const countedAs = ({ tool, result }: MadeCall): string => (isUnknownTool(result) ? UNKNOWN_TOOLS : tool);

/** No tool has such a name. */
const UNKNOWN_TOOLS = "tools that do not exist";

/**
 * The newest calls since the last user message, and since the last message that `endsAt` holds for, in the order in which
 * the model proposed them. Equal calls of one reply count once, since the model proposed them before any had a result.
 */
export function newestCalls(
  messages: readonly Message[],
  endsAt: (message: Message) => boolean = () => false,
): readonly MadeCall[] {
  return newestReplies(messages, { most: BOUNDS.loopCalls, endsAt }).flat().slice(-BOUNDS.loopCalls);
}

/** The calls of the newest replies with settled calls, reply by reply, oldest first; `most` replies. */
function newestReplies(
  messages: readonly Message[],
  {
    most,
    endsAt = () => false,
    leavesOut = () => false,
  }: {
    readonly most: number;
    readonly endsAt?: (message: Message) => boolean;
    readonly leavesOut?: (call: MadeCall) => boolean;
  },
): readonly (readonly MadeCall[])[] {
  const results = new Map<string, Pick<MadeCall, "outcome" | "result"> & { readonly edited: Value | null }>();
  const replies: MadeCall[][] = [];
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as Message;
    if (message.source.startsWith("user:") || endsAt(message) || replies.length >= most) break;
    const { id, parts } = message;
    const asked: MadeCall[] = [];
    for (const part of parts) {
      if (part.kind === "result") {
        const { outcome, value: result, edited } = part;
        results.set(part.call, { outcome, result, edited });
      }
      const settled = part.kind === "call" ? results.get(part.call) : undefined;
      if (part.kind !== "call" || settled === undefined) continue;
      const { outcome, result, edited } = settled;
      const call: MadeCall = {
        call: part.call,
        tool: part.tool,
        args: edited ?? part.args,
        outcome,
        result,
        reply: id,
      };
      if (!leavesOut(call) && !asked.some((each) => isEqual(each, call))) asked.push(call);
    }
    if (asked.length > 0) replies.push(asked);
  }
  return replies.toReversed();
}

/** Two calls alternate, one per reply. Two calls that one reply proposes together are a repeated plan instead. */
function alternates(made: readonly MadeCall[], length: number): boolean {
  const last = made.slice(-length);
  const [first, second] = last;
  if (last.length < length || first === undefined || second === undefined || isEqual(first, second)) return false;
  const isTurn = (call: MadeCall, index: number): boolean => isEqual(call, index % 2 === 0 ? first : second);
  return last.every(isTurn) && new Set(last.map(({ reply }) => reply)).size === length;
}

const isEqual = (one: MadeCall, other: MadeCall): boolean =>
  one.tool === other.tool &&
  one.outcome === other.outcome &&
  sameValue(one.args, other.args) &&
  sameValue(one.result, other.result);

export function sameValue(one: Value, other: Value): boolean {
  if (one.kind === "blob") return other.kind === "blob" && one.sha256 === other.sha256;
  return other.kind === "inline" && sameJson(one.json, other.json);
}

/** Equal as canonical texts: the order of names does not count. */
export function sameJson(one: Json, other: Json): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one, other] as readonly { readonly [name: string]: Json }[];
  const names = Object.keys(left ?? {});
  return (
    names.length === Object.keys(right ?? {}).length &&
    names.every((name) => {
      const [mine, theirs] = [left?.[name], right?.[name]];
      return mine !== undefined && theirs !== undefined && sameJson(mine, theirs);
    })
  );
}
