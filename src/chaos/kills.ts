/**
 * When to kill. Moments are counted the same way in every strategy, so "after the fourth tool" is one moment for all of
 * them. What is chosen follows from the seed and from the uninterrupted tasks alone: a failure can be repeated.
 */
import type { FaultPoint } from "../ports/fault-point.ts";

/** The agent's own moments are those of its model and its tools; the others belong to a strategy. */
export interface Moment extends Pick<FaultPoint, "when"> {
  readonly name: FaultPoint["name"] | "model" | "save";
  /** For people: the tool, the version, the epoch. */
  readonly at: string;
}

/** The moment of that name that comes as the `nth`, from 1 on. */
export interface Kill extends Moment {
  readonly nth: number;
}

export const wordsOf = ({ when, name, nth, at }: Kill): string =>
  `${when} ${name} ${nth}${at === "" ? "" : ` (${at})`}`;

/** Each moment of a task with its number among those of its kind. */
export function numbered(moments: readonly Moment[]): readonly Kill[] {
  const counts = new Map<string, number>();
  return moments.map(({ when, name, at }) => {
    const kind = `${when} ${name}`;
    const nth = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, nth);
    return { when, name, at, nth };
  });
}

/** Moments that every strategy has. */
const isShared = ({ name }: Moment): boolean => name === "model" || name === "effect";

/**
 * A beat of the task at random, and a moment of that beat. A beat begins where its model is asked. Null where the model
 * was never asked.
 */
export function randomKill(moments: readonly Moment[], chance: () => number): Kill | null {
  const beats: Kill[][] = [];
  for (const kill of numbered(moments).filter(isShared)) {
    if (kill.name === "model" && kill.when === "before") beats.push([]);
    beats.at(-1)?.push(kill);
  }
  const beat = beats[Math.floor(chance() * beats.length)] ?? [];
  return beat[Math.floor(chance() * beat.length)] ?? null;
}

/** Numbers from 0 to 1 that follow from a text: mulberry32 over its FNV-1a hash. */
export function chanceFrom(seed: string): () => number {
  let state = 0x811c9dc5;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
