/** Chance from one seed: every choice of a simulation draws from it, so a seed is a history that can be repeated. */
import { createHash } from "node:crypto";

export interface SeededChoices {
  /** 0 <= x < 1. */
  unit(): number;
  /** A whole number from 0 to `below - 1`. */
  below(below: number): number;
  /** True about once in `times`. */
  oneIn(times: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** An independent source for one part, so that a new draw in one does not change the others. */
  child(name: string): SeededChoices;
}

export function seededChoices(seed: string): SeededChoices {
  let state = Number.parseInt(createHash("sha256").update(seed).digest("hex").slice(0, 8), 16);
  const unit = (): number => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(unit() * limit);
  return {
    unit,
    below,
    oneIn: (times) => below(times) === 0,
    pick: <T>(from: readonly T[]): T => from[below(from.length)] as T,
    child: (name) => seededChoices(`${seed}/${name}`),
  };
}
