/** Shared argument parsers and types for the groups of commands. */
import { InvalidArgumentError } from "commander";
import { SIZES } from "../codec/limits.ts";
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

/** A parser for an amount of dollars, for an option of commander. */
export function dollarsAbove(text: string): number {
  const number = Number(text);
  if (text.trim() !== "" && Number.isFinite(number) && number >= 0) return number;
  throw new InvalidArgumentError("It is an amount of dollars, such as 0.5.");
}

/** A parser for the reason of an action, for an option of commander. */
export function reason(text: string): string {
  if (text.length <= SIZES.whyCharactersMax) return text;
  throw new InvalidArgumentError(`It has ${SIZES.whyCharactersMax} characters at most, and this one ${text.length}.`);
}

/** Help text of the option `--beat-seconds`. */
export const BEAT =
  "how long one beat may take, 0.5 to 900 (default: CAIRN_BEAT_SECONDS, then the config file, then 60)";

/** Collects the values of an option that may be repeated. */
export const each = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
