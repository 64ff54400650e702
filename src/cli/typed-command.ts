/** A command of an operation, as data: its words and options, and how they fill the input of the operation. */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { Flag, Syntax, Takes } from "../operations/syntax.ts";
import type { OperationName } from "../operations/table.ts";
import { dollarsAbove, each, reason, wholeNumber } from "./arguments.ts";
import type { Shell } from "./shell.ts";

export interface TypedCommand extends Omit<Syntax, "flags"> {
  readonly command: string;
  readonly operation: OperationName;
  readonly group: string;
  readonly help: string;
  readonly flags: readonly Flag[];
}

/** What the user typed: each word by the field that it fills, the options, and how to refuse what does not fit. */
export interface TypedInput {
  readonly flags: object;
  /** Ends with an error of usage. */
  readonly fail: (message: string) => never;
}

/** Performs a command, and resolves with its exit code. */
export type Handler = (shell: Shell, given: never) => Promise<number>;

/** Adds the command below the program, or below the command of its first word. */
export function addTyped(parent: Command, typed: TypedCommand, act: (given: TypedInput) => Promise<void>): void {
  const { command: path, words = "", help, flags, after, examples = [] } = typed;
  const name = path.split(" ").at(-1) ?? path;
  const command = parent.command(`${name} ${words}`.trim()).description(help);
  for (const flag of flags) command.addOption(optionOf(flag));
  if (after !== undefined) command.addHelpText("after", after);
  if (examples.length > 0)
    command.addHelpText("after", ["\nExamples:", ...examples.map((line) => `  cairn ${line}`)].join("\n"));
  command.action((...all: readonly unknown[]) => {
    const values = command.registeredArguments.map((argument, index) => [
      typed.fills?.[argument.name()] ?? argument.name(),
      all[index],
    ]);
    return act({
      ...Object.fromEntries(values),
      flags: command.optsWithGlobals(),
      fail: (message) => command.error(`error: ${message}`),
    });
  });
}

function optionOf({ flag, help, takes, choices, default: unless, required }: Flag): Option {
  const option = new Option(flag, help).makeOptionMandatory(required === true);
  if (takes !== undefined) option.argParser<unknown>(parserOf(takes) as (text: string, before: unknown) => unknown);
  if (choices !== undefined) option.choices(choices);
  return unless === undefined ? option : option.default(unless);
}

function parserOf(takes: Takes): (text: string, before?: readonly string[]) => unknown {
  switch (takes.kind) {
    case "wholeNumber":
      return wholeNumber(takes.min, takes.max);
    case "dollars":
      return dollarsAbove;
    case "reason":
      return reason;
    case "repeated":
      return each;
    case "scopes":
      return scopesIn;
  }
}

/** The words of `--scopes`. A list of its own, so that `cairn --help` loads no operation. */
const SCOPE_WORDS = ["runs:read", "runs:write", "approve", "admin"] as const;
type ScopeWord = (typeof SCOPE_WORDS)[number];

function scopesIn(text: string): readonly ScopeWord[] {
  const words = text.split(",").map((word) => word.trim());
  const unknown = words.find((word) => !SCOPE_WORDS.includes(word as ScopeWord));
  if (unknown === undefined) return words as ScopeWord[];
  throw new InvalidArgumentError(`${unknown || "nothing"} is no scope: write ${SCOPE_WORDS.join(", ")}.`);
}
