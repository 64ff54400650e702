/** What a command over HTTP receives, and what it answers. */
import type { Client } from "../../client/client.ts";
import type { performAt } from "../../client/perform.ts";
import type { ExitCode } from "../errors.ts";
import type { Style } from "../terminal/paint.ts";
import type { Shell } from "../shell.ts";

/** The options that the user typed. Each command reads its own. */
export interface RemoteFlags {
  readonly api: string;
  readonly [name: string]: unknown;
}

export interface Remote {
  readonly shell: Shell;
  readonly client: Client;
  /** One request for an operation, by its name. */
  readonly perform: ReturnType<typeof performAt>;
  readonly flags: RemoteFlags;
  /** The arguments, in the order of the help text. */
  readonly words: readonly (string | undefined)[];
  /** Builds a command that the user can type, for the same API. */
  readonly command: (...words: readonly string[]) => string;
  readonly style: Style;
}

export interface Answer {
  /** With `--json`: one document. */
  readonly document?: unknown;
  /** With `--json`: JSON lines instead. */
  readonly lines?: readonly unknown[];
  /** For people. */
  readonly text: string;
  readonly exit?: ExitCode;
}

/** A command over HTTP, or why there is none. */
export type RemoteCommand = ((of: Remote) => Promise<Answer>) | string;

/** An option with text; undefined if it was not given. */
export const textIn = (flags: RemoteFlags, name: string): string | undefined => {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
};
