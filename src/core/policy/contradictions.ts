/**
 * Tools that contradict each other. A tool declares which facts its results claim. Two calls
 * claim different values of one fact, and each repeats its value after the other. A fact that changed once is no
 * contradiction, since the old value would not come back.
 *
 * The claims are code of the agent. This file only decides when they contradict.
 */
import type { Json } from "../json.ts";
import type { Message } from "../message.ts";
import { type MadeCall, newestCalls, sameJson, sameValue } from "./loops.ts";

/** What a result claims: a value per fact. */
export type Claims = Readonly<Record<string, Json>>;

/** Two calls that alternated, each made twice: the first and the second time of each. */
interface Turns {
  readonly one: readonly [MadeCall, MadeCall];
  readonly other: readonly [MadeCall, MadeCall];
}

export interface Contradiction {
  readonly fact: string;
  /** The claimed value per tool. */
  readonly claimed: readonly (readonly [tool: string, value: Json])[];
}

/** The message to the model begins with this text. Later beats recognise by it that the model was told. */
export const CONFLICT_NOTICE = "Two results contradict each other";

/** Whether the model was told of a contradiction since the last user message. */
export function conflictWasReported(messages: readonly Message[]): boolean {
  const last = messages.findLast((message) => isTelling(message) || message.source.startsWith("user:"));
  return last !== undefined && isTelling(last);
}

const isTelling = ({ source, parts: [part] }: Message): boolean =>
  source === "cairn" && part?.kind === "text" && part.text.startsWith(CONFLICT_NOTICE);

/**
 * The pairs of recent calls that alternated since the model was last told. Only tools that claim facts count. Equal
 * tool and arguments make the same call. A call whose claims differ each time follows a changing world.
 */
export function toolTurnsIn(messages: readonly Message[], mayClaim: (tool: string) => boolean): readonly Turns[] {
  const made = newestCalls(messages, isTelling);
  const claiming = made.filter(({ tool, outcome }) => outcome === "succeeded" && mayClaim(tool));
  const deeds = claiming.filter((call, index) => claiming.findIndex((each) => isSameDeed(each, call)) === index);
  const times = deeds.flatMap((deed) => {
    const [first, second] = claiming.filter((each) => isSameDeed(each, deed)).slice(-2);
    return first === undefined || second === undefined ? [] : [[first, second] as const];
  });
  const at = (call: MadeCall): number => claiming.indexOf(call);
  const inTurns = (one: Turns["one"], other: Turns["other"]): boolean =>
    at(one[0]) < at(other[0]) && at(other[0]) < at(one[1]) && at(one[1]) < at(other[1]);
  return times.flatMap((one) => times.filter((other) => inTurns(one, other)).map((other) => ({ one, other })));
}

/** The first fact with two different values, each of which its call claimed both times. */
export function findContradiction(
  turns: readonly Turns[],
  claimsOf: (call: MadeCall) => Claims | undefined,
): Contradiction | null {
  for (const { one, other } of turns) {
    for (const fact of Object.keys(claimsOf(one[0]) ?? {})) {
      const [mine, theirs] = [steady(one, fact, claimsOf), steady(other, fact, claimsOf)];
      if (mine === undefined || theirs === undefined || sameJson(mine, theirs)) continue;
      const claimed = [
        [one[0].tool, mine],
        [other[0].tool, theirs],
      ] as const;
      return { fact, claimed };
    }
  }
  return null;
}

/** The value that the call claimed both times; undefined if it did not. */
function steady(
  times: readonly [MadeCall, MadeCall],
  fact: string,
  claimsOf: (call: MadeCall) => Claims | undefined,
): Json | undefined {
  const [first, second] = times.map((call) => claimsOf(call)?.[fact]);
  return first !== undefined && second !== undefined && sameJson(first, second) ? second : undefined;
}

const isSameDeed = (one: MadeCall, other: MadeCall): boolean =>
  one.tool === other.tool && sameValue(one.args, other.args);
