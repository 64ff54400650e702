/** What a command gets of the process that it runs in. Only the composition root knows the real one. */
import type { WorldEntry } from "../ports/world-provider.ts";
import type { Terminal } from "./terminal/terminal.ts";

export interface Shell {
  /** The words after `cairn`, as they were typed. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The worlds that there are, the one first that is meant where nothing is said. */
  readonly worlds: readonly WorldEntry[];
  /** stdout holds one document or JSON lines and nothing else. */
  readonly json: boolean;
  readonly terminal: Terminal;
  /** The person at the keyboard, for the record. */
  readonly user: () => string;
  /** The machine that the command runs on, for the record. */
  readonly host: () => string;
  readonly readStdin: () => Promise<string>;
  /** Asks the person at the terminal, and resolves with what they type; null where no person could answer. */
  readonly ask: ((question: string) => Promise<string>) | null;
  /** Fires at SIGINT, SIGTERM or SIGHUP, with its name as reason; a second signal ends the process at once. */
  readonly stopSignal: () => AbortSignal;
}

/** Options that every command takes. */
export interface StoreFlags {
  readonly store?: string;
  readonly world?: string;
}

export interface BeatFlags extends StoreFlags {
  readonly beatSeconds?: string;
}

/** One JSON document, for programs and for people who look at it. */
export const printDocument = ({ terminal }: Shell, document: unknown): void =>
  terminal.out(JSON.stringify(document, null, 2));

/** JSON lines: one for each. */
export const printLines = ({ terminal }: Shell, lines: readonly unknown[]): void => {
  for (const line of lines) terminal.out(JSON.stringify(line));
};
