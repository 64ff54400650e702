/** Shared argument parsers and types for the groups of commands. */
import { InvalidArgumentError } from "commander";
import type { Shell } from "./shell.ts";

/** The process of the command line, and `ends`, which receives the exit code of a command. */
export interface Into {
  readonly shell: Shell;
  readonly ends: (command: Promise<number>) => Promise<void>;
}

/** A parser for whole numbers from `min` to `max`, for an option of commander. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const number = Number(text);
    if (Number.isSafeInteger(number) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It is a whole number from ${min} to ${max}.`);
  };

/** Help text of the option `--beat-seconds`. */
export const BEAT =
  "how long one beat may take, 0.5 to 900 (default: CAIRN_BEAT_SECONDS, then the config file, then 60)";

/** Collects the values of an option that may be repeated. */
export const each = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
