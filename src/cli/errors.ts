/**
 * Errors of the command line, for humans and for programs. Each says what happened, why, and which command to type
 * next.
 *
 * For humans an error goes to stderr, so that a pipe never reads it. With `--json` it is the only document on stdout:
 * `{"error":{"code","message","why","next"}}`. A program then reads one stream, and the exit code tells it which
 * document it got. Codes are stable. Exit codes: 1 the run or check failed, 2 usage, 3 not found, 4 refused, 5 store or
 * output.
 */
import type { UserError } from "../compose/user-error.ts";
import type { Paint } from "../render/paint.ts";

/** Whether the system has no room for what is written: the fault of a disk, and not of what the user typed. */
export function isShortage(error: unknown): boolean {
  const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
  return ["ENOSPC", "EDQUOT", "EFBIG", "EIO"].includes(code);
}

/** Renders `error CODE: what happened`, `why` and `next`, each on its own line. */
export function renderError({ trouble }: UserError, paint: Paint): string {
  const { code, what, why, next } = trouble;
  return [
    `${paint("red", `error ${code}:`)} ${what}`,
    `${paint("dim", "why:")} ${why}`,
    `${paint("dim", "next:")} ${paint("bold", next)}`,
  ].join("\n");
}

/** The JSON document of an error, for programs. */
export function errorDocument({ trouble }: UserError): object {
  const { code, what: message, why, next, facts = {} } = trouble;
  return { error: { code, message, why, next, ...facts } };
}
