/**
 * The loop detector (seed 4: runaway and oscillation). It reads the transcript alone, so a resumed run sees what the
 * run before the crash saw. Polling that makes progress is no loop, since its results differ.
 */
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

/** The loop that the newest calls form; null if they form none. */
export function findLoop(messages: readonly Message[]): Loop | null {
  const made = newestCalls(messages);
  if (alternates(made, BOUNDS.loopCalls)) {
    const [one, other] = made.slice(-2).map(({ tool }) => tool);
    const why = `its last ${BOUNDS.loopCalls} calls alternated between ${one} and ${other}, each with the same arguments and the same result`;
    return { crack: "oscillation", why };
  }
  // The calls are about to become an oscillation, or to break out of one.
  if (alternates(made, BOUNDS.loopCalls - 1)) return null;
  for (const call of made) {
    const times = made.filter((each) => isEqual(each, call)).length;
    if (times < BOUNDS.loopRepeats) continue;
    const why = `of its last ${made.length} calls ${times} were of ${call.tool} with the same arguments and the same result`;
    return { crack: "runaway", why };
  }
  return null;
}

/**
 * The newest calls since the last user message, and since the last message that `endsAt` holds for, in the order in which
 * the model proposed them. Equal calls of one reply count once, since the model proposed them before any had a result.
 */
export function newestCalls(
  messages: readonly Message[],
  endsAt: (message: Message) => boolean = () => false,
): readonly MadeCall[] {
  const results = new Map<string, Pick<MadeCall, "outcome" | "result"> & { readonly edited: Value | null }>();
  let made: readonly MadeCall[] = [];
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as Message;
    if (message.source.startsWith("user:") || endsAt(message) || made.length >= BOUNDS.loopCalls) break;
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
      if (!asked.some((each) => isEqual(each, call))) asked.push(call);
    }
    made = asked.concat(made);
  }
  return made.slice(-BOUNDS.loopCalls);
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
