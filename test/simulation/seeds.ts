/**
 * The names of seeds. In the gate they are `s0`, `s1`, ... and are the same each time; those of a night end with its
 * date, such as `s0@2026-11-28`. Families are `f0` and `f0@2026-11-28`. The name alone determines the history.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** What may follow the `@`. */
const SALT = /^[\w.-]+$/;

export const isSalt = (text: string): boolean => SALT.test(text);

/** The name of a seed. `kind`: `s` for a history of one run, `f` for one of a family. */
export const seedName = (kind: "s" | "f", index: number, salt: string | undefined): string =>
  `${kind}${index}${salt === undefined ? "" : `@${salt}`}`;

export const isFamilySeed = (seed: string): boolean => /^f\d+(@|$)/.test(seed);

/** A seed that the gate always plays. */
export interface Pinned {
  readonly seed: string;
  /** Without the features that the seed would draw (`features/plan.ts`). */
  readonly isPlain: boolean;
  readonly cause: string;
}

/** Reads the list of pinned seeds. Throws if a seed has no cause. */
export function parsePinned(text: string): readonly Pinned[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("//"));
  const found: Pinned[] = [];
  for (let index = 0; index < lines.length; index += 2) {
    const [, seed = "", plain] = /^([sf]\d+(?:@[\w.-]+)?)( plain)?$/.exec(lines[index] ?? "") ?? [];
    const cause = /^ {2}(\S.*)$/.exec(lines[index + 1] ?? "")?.[1];
    if (seed === "" || cause === undefined) throw new Error(`pinned.txt: ${lines[index]}: write SEED, then its cause`);
    found.push({ seed, isPlain: plain !== undefined, cause });
  }
  return found;
}

export const pinnedSeeds = (): readonly Pinned[] =>
  parsePinned(readFileSync(join(import.meta.dirname, "pinned.txt"), "utf8"));
