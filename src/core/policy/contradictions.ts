/**
 * Tools that contradict each other (seed 4: oscillation). Results claim facts, as their tools declare: two calls claim
 * other values for one fact, and each does so again after the other one. A fact that changes once in time is none: then
 * the same value would not come back. What the claims are is code of the agent; here is only when they contradict.
 */
import type { Json } from "../json.ts";
import type { Message } from "../message.ts";
import { type Made, newestCalls, sameJson, sameValue } from "./loops.ts";

export type Claims = Readonly<Record<string, Json>>;

/** Two calls that were made twice, in turns: the first and the second time of each. */
interface Turns {
  readonly one: readonly [Made, Made];
  readonly other: readonly [Made, Made];
}

export interface Contradiction {
  readonly fact: string;
  /** By tool, what it claims. */
  readonly claimed: readonly (readonly [tool: string, value: Json])[];
}

/** What the model is told begins so; it is how a later look knows that it was. */
export const TOLD = "Two results contradict each other";

/** The model was told of a contradiction since a person spoke. */
export function wasTold(messages: readonly Message[]): boolean {
  const last = messages.findLast((message) => isTelling(message) || message.source.startsWith("user:"));
  return last !== undefined && isTelling(last);
}

const isTelling = ({ source, parts: [part] }: Message): boolean =>
  source === "cairn" && part?.kind === "text" && part.text.startsWith(TOLD);

/**
 * Which of the newest calls took turns since the model was told last: only what these claim is looked at. A call is known by
 * its tool and its arguments. The same call that comes to something else each time follows a world that moves.
 */
export function turnsIn(messages: readonly Message[], mayClaim: (tool: string) => boolean): readonly Turns[] {
  const made = newestCalls(messages.slice(messages.findLastIndex(isTelling) + 1));
  const claiming = made.filter(({ tool, outcome }) => outcome === "succeeded" && mayClaim(tool));
  const deeds = claiming.filter((call, index) => claiming.findIndex((each) => isSameDeed(each, call)) === index);
  const times = deeds.flatMap((deed) => {
    const [first, second] = claiming.filter((each) => isSameDeed(each, deed)).slice(-2);
    return first === undefined || second === undefined ? [] : [[first, second] as const];
  });
  const at = (call: Made): number => claiming.indexOf(call);
  const inTurns = (one: Turns["one"], other: Turns["other"]): boolean =>
    at(one[0]) < at(other[0]) && at(other[0]) < at(one[1]) && at(one[1]) < at(other[1]);
  return times.flatMap((one) => times.filter((other) => inTurns(one, other)).map((other) => ({ one, other })));
}

/** The first fact about which two of them say other things, each of them the same thing both times. */
export function contradictionIn(
  turns: readonly Turns[],
  claimsOf: (call: Made) => Claims | undefined,
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

/** What it claimed both times. */
function steady(
  times: readonly [Made, Made],
  fact: string,
  claimsOf: (call: Made) => Claims | undefined,
): Json | undefined {
  const [first, second] = times.map((call) => claimsOf(call)?.[fact]);
  return first !== undefined && second !== undefined && sameJson(first, second) ? second : undefined;
}

const isSameDeed = (one: Made, other: Made): boolean => one.tool === other.tool && sameValue(one.args, other.args);
