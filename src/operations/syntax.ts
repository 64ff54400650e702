/**
 * What a user types for an operation, as data: the words and options of each of its commands. Each file of an operation
 * exports it as `NAMESyntax`, by what the row calls `typed`. `npm run derive` writes them into one file, so that
 * `cairn --help` loads no operation. It is a function, which a bundler leaves out of the API.
 */
import { DEFAULT_TENANT } from "../core/ids.ts";

/** What an option takes, where it is more than a text. */
export type Takes =
  | { readonly kind: "wholeNumber"; readonly min: number; readonly max: number }
  | { readonly kind: "dollars" | "reason" | "repeated" | "scopes" };

export interface Flag {
  /** As a user reads it, such as `--limit <n>`. */
  readonly flag: string;
  readonly help: string;
  /** The field of the input that it fills; by default the one of its name, if there is one. */
  readonly fills?: string;
  readonly takes?: Takes;
  readonly choices?: readonly string[];
  readonly default?: string | number;
  readonly required?: true;
}

/** The options with which a user selects another operation, at this place of the help. */
export interface FlagsOf {
  readonly flagsOf: string;
}

/** The syntax of one command. The help text is that of the row. */
export interface Syntax {
  /** The heading in `cairn --help`. The options of another operation's command have none. */
  readonly group?: string;
  /** The words after the command, such as `<run> [gate]`. */
  readonly words?: string;
  /** The field of the input that a word fills, where it has another name. */
  readonly fills?: Readonly<Record<string, string>>;
  readonly flags?: readonly (Flag | FlagsOf)[];
  /** Follows the help. */
  readonly after?: string;
  /** What follows `cairn` in an example of the help. */
  readonly examples?: readonly string[];
}

/** By the words of `typed`: the command, and the option that selects the operation. */
export type Syntaxes = Readonly<Record<string, Syntax>>;

export const MAX_VERSION = Number.MAX_SAFE_INTEGER;

export const wholeNumbers = (min: number, max: number): Takes => ({ kind: "wholeNumber", min, max });

/** Why, where the operation has a field for it. */
export const WHY: Flag = { flag: "--why <text>", help: "why, for the audit log", takes: { kind: "reason" } };

export const tenantFlag = (help: string): Flag => ({ flag: "--tenant <name>", help, default: DEFAULT_TENANT });

/** The options of each command for memories. */
export const MEMORY_FLAGS: readonly Flag[] = [
  { flag: "--agent <name>", help: "the memory of this agent: a name from cairn.config.ts, or its file" },
  { flag: "--scope <name>", help: "the memory of this name" },
  tenantFlag("the tenant of the memory"),
];

export const MEMORY_AFTER = `
An agent's memory has the agent's name, unless its definition names another one (memory.scope).
Where all agents of cairn.config.ts share one memory, neither --agent nor --scope is needed.`;
