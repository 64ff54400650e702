/** Where the settings of a command or of a program come from. A terminal is none of it. */
import type { Agent } from "../ports/agent.ts";
import type { WorldEntry } from "../ports/world-provider.ts";

/** What the settings of a command come from. */
export interface Surroundings {
  /** The words after `cairn`, as the user typed them. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** All worlds. The first is the default. */
  readonly worlds: readonly WorldEntry[];
  /** A program gives its agents as objects, as in a bundle: then no config and no agent file is read. */
  readonly agents?: readonly Agent[];
}

/** Options that every command takes. */
export interface StoreFlags {
  readonly store?: string;
  readonly world?: string;
  /** The URL of an API, instead of a store. */
  readonly api?: string;
}

/** The options of commands that also take `--beat-seconds`. */
export interface BeatFlags extends StoreFlags {
  readonly beatSeconds?: string;
  /** Only `cairn work` has this flag and the next one. */
  readonly workers?: number;
  readonly beatsPerWorker?: number;
}
