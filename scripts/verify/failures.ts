/**
 * Which failures of a test file may have come from a slow machine, and which refuse the change at once.
 *
 * A timeout, the expiry of a poll and a `MissingEvent` say that something did not come in time: such a file is played
 * once more, alone (docs/adr/0115-second-try.md). Each other failed assertion and each `SafetyViolation` refuses.
 */

/** An error as a reporter of vitest gets it from a worker: without its class, perhaps with its causes. */
export interface ReportedError {
  readonly name?: string | undefined;
  readonly message?: string | undefined;
  readonly cause?: unknown;
}

/** `late`: something did not come in time. `safety`: a statement about safety does not hold. `wrong`: all else. */
export type FailureKind = "late" | "safety" | "wrong";

/** What vitest, Playwright, `AbortSignal.timeout` and our own helpers say when a time limit is over. */
const LATE_NAMES = new Set(["MissingEvent", "TimeoutError"]);
const LATE_MESSAGES = [
  /^(Test|Hook) timed out in \d+ms/,
  /^Timed out in waitFor/,
  /^Timed out in waitUntil/,
  // The cause that vitest adds to the last failure of an `expect.poll`.
  /^Matcher did not succeed in time/,
  // The pool of vitest waited for a worker or for an answer of it.
  /^\[vitest-(pool|worker)(-runner)?\]: Timeout /,
];
/** A chain of causes may be a circle. */
const CAUSES_MAX = 10;

export function kindOfFailure(error: ReportedError): FailureKind {
  const chain = causesOf(error);
  if (chain.some(({ name }) => name === "SafetyViolation")) return "safety";
  return chain.some(isLate) ? "late" : "wrong";
}

function causesOf(error: ReportedError): readonly ReportedError[] {
  const chain: ReportedError[] = [];
  let next: unknown = error;
  while (typeof next === "object" && next !== null && chain.length < CAUSES_MAX) {
    chain.push(next);
    next = (next as ReportedError).cause;
  }
  return chain;
}

const isLate = ({ name = "", message = "" }: ReportedError): boolean =>
  LATE_NAMES.has(name) || LATE_MESSAGES.some((pattern) => pattern.test(message));

/** One error of a test, a suite or a file. */
export interface Failure {
  readonly kind: FailureKind;
  /** The whole name of the test; `""` for a file that could not be loaded, or for its hooks. */
  readonly test: string;
  /** The first line of the message. */
  readonly said: string;
}

/** What became of a test file: `again` if it may be played once more. */
export const fateOf = (failures: readonly Failure[]): "passed" | "again" | "refused" => {
  if (failures.length === 0) return "passed";
  return failures.every(({ kind }) => kind === "late") ? "again" : "refused";
};
