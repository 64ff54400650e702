/** Draws that depend on their seed alone, so that every process generates the same corpus. */
import { createHash } from "node:crypto";

export interface Chance {
  /** A number from 0 to 1, without 1. */
  readonly next: () => number;
  /** A whole number, both ends included. */
  readonly whole: (from: number, to: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** The items in another order. */
  readonly shuffle: <Item>(items: readonly Item[]) => readonly Item[];
}

export function chanceOf(...seed: readonly (string | number)[]): Chance {
  let state = createHash("sha256").update(JSON.stringify(seed)).digest().readUInt32LE(0);
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[whole(0, items.length - 1)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  };
  const shuffle = <Item>(items: readonly Item[]): readonly Item[] =>
    items
      .map((item) => ({ item, at: next() }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ item }) => item);
  return { next, whole, pick, shuffle };
}
