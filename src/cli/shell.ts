/**
 * What a command gets from its process: arguments, environment, streams and signals. Only `main.ts` uses the real
 * process, so tests can pass their own.
 */
import type { WorldEntry } from "../ports/world-provider.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The process as a command sees it. */
export interface Shell {
  /** The words after `cairn`, as the user typed them. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** All worlds. The first is the default. */
  readonly worlds: readonly WorldEntry[];
  /** With `--json`: stdout holds one document or JSON lines, and nothing else. */
  readonly json: boolean;
  readonly terminal: Terminal;
  /** The name of the user, for the run's history. */
  readonly user: () => string;
  /** The name of the machine, for the run's history. */
  readonly host: () => string;
  readonly readStdin: () => Promise<string>;
  /** Asks the user at the terminal, and resolves with the answer; null if no user can answer. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Fires at SIGINT, SIGTERM or SIGHUP, with the signal's name as reason. A second signal ends the process at once. */
  readonly stopSignal: () => AbortSignal;
}

/** What the settings of a command come from. */
export type Surroundings = Pick<Shell, "argv" | "env" | "cwd" | "worlds">;

/** Options that every command takes. */
export interface StoreFlags {
  readonly store?: string;
  readonly world?: string;
}

/** The options of commands that also take `--beat-seconds`. */
export interface BeatFlags extends StoreFlags {
  readonly beatSeconds?: string;
  /** Only `cairn work` has this flag and the next one. */
  readonly workers?: number;
  readonly beatsPerWorker?: number;
}

/** Prints one indented JSON document. */
export const printDocument = ({ terminal }: Shell, document: unknown): void =>
  terminal.out(JSON.stringify(document, null, 2));

/** Prints JSON lines, one for each value. */
export const printLines = ({ terminal }: Shell, lines: readonly unknown[]): void => {
  for (const line of lines) terminal.out(JSON.stringify(line));
};
