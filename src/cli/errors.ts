/**
 * Errors of the command line, for humans and for programs. Each says what happened, why, and which command to type
 * next.
 *
 * For humans an error goes to stderr, so that a pipe never reads it. With `--json` it is the only document on stdout:
 * `{"error":{"code","message","why","next"}}`. A program then reads one stream, and the exit code tells it which
 * document it got. Codes are stable. Exit codes: 1 the run or check failed, 2 usage, 3 not found, 4 refused, 5 store.
 */
import type { Paint } from "./terminal/paint.ts";

/** The exit codes of the command line. They are stable. */
export const EXIT = { done: 0, failed: 1, usage: 2, notFound: 3, refused: 4, store: 5 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export interface Trouble {
  readonly code: string;
  readonly exit: ExitCode;
  /** What happened. */
  readonly what: string;
  readonly why: string;
  /** A command to type. */
  readonly next: string;
  /** Further details for a program, each under its own field name. */
  readonly facts?: Readonly<Record<string, string | number | readonly string[]>>;
}

/** An error for the user: what happened, why, which command to type next, and a stable code. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly trouble: Trouble;

  constructor(trouble: Trouble, options?: ErrorOptions) {
    super(trouble.what, options);
    this.trouble = trouble;
  }
}

/** Renders `error CODE: what happened`, `why` and `next`, each on its own line. */
export function renderError({ trouble }: CliError, paint: Paint): string {
  const { code, what, why, next } = trouble;
  return [
    `${paint("red", `error ${code}:`)} ${what}`,
    `${paint("dim", "why:")} ${why}`,
    `${paint("dim", "next:")} ${paint("bold", next)}`,
  ].join("\n");
}

/** The JSON document of an error, for programs. */
export function errorDocument({ trouble }: CliError): object {
  const { code, what: message, why, next, facts = {} } = trouble;
  return { error: { code, message, why, next, ...facts } };
}
