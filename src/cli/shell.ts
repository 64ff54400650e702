/**
 * What a command gets from its process: arguments, environment, streams and signals. Only `main.ts` uses the real
 * process, so tests can pass their own.
 */
import type { Surroundings } from "../compose/surroundings.ts";
import type { LostLines } from "../ports/supervision.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The process as a command sees it. */
export interface Shell extends Surroundings {
  /** With `--json`: stdout holds one document or JSON lines, and nothing else. */
  readonly json: boolean;
  readonly terminal: Terminal;
  /** The name of the user, for the run's history. */
  readonly user: () => string;
  /** The name of the machine, for the run's history. */
  readonly host: () => string;
  readonly readStdin: () => Promise<Uint8Array>;
  /** Asks the user at the terminal, and resolves with the answer; null if no user can answer. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Fires at SIGINT, SIGTERM or SIGHUP, with the signal's name as reason. A second signal ends the process at once. */
  readonly stopSignal: () => AbortSignal;
  /**
   * For a command that works until it is stopped: from now on its output may fail, is dropped and counted, and ends
   * nothing. Before, and for every other command, output that fails ends the process with exit code 5, and a reader that
   * has gone fires the stop signal with `SIGPIPE`.
   */
  readonly outliveOutput: () => void;
  /** What of its output, stderr included, was dropped since the start of such a command; null: nothing. */
  readonly lostOutput: () => LostLines | null;
}

/** Prints one indented JSON document. */
export const printDocument = ({ terminal }: Shell, document: unknown): void =>
  terminal.out(JSON.stringify(document, null, 2));

/** Prints JSON lines, one for each value. */
export const printLines = ({ terminal }: Shell, lines: readonly unknown[]): void => {
  for (const line of lines) terminal.out(JSON.stringify(line));
};
