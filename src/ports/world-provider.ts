/**
 * A world as the command line sees it: how its stores are named, opened and diagnosed, and what it can do. Commands
 * know worlds by this contract alone. So a new world is one folder in `adapters`, its provider, and one line in the
 * list of providers (`src/compose/worlds.ts`).
 *
 * Three types follow each other: a `WorldProvider` has a name; a `ConfiguredWorld` knows where its stores are; an
 * `OpenedWorld` has them open.
 */
import type { Incarnation } from "../protocol/row.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Backups } from "./backups.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { RolloutPort } from "./rollout.ts";
import type { SealKeys } from "./seal-keys.ts";
import type { SecretLook } from "./secrets.ts";
import type { Supervision } from "./supervision.ts";
import type { World } from "./world.ts";

/**
 * An entry of the list of providers. `load` imports the provider with its dependencies, so a command never loads those
 * of another world.
 */
export interface WorldEntry {
  readonly name: string;
  /** The options that this world adds to every command. */
  readonly options: readonly WorldOption[];
  readonly load: () => Promise<WorldProvider>;
}

export interface WorldOption {
  /** The name of the setting that the option sets. */
  readonly name: string;
  /** The option as commander declares it, such as `--store <dir>`. */
  readonly flags: string;
  readonly says: string;
}

/** A kind of world: `local`, `aws` and so on. */
export interface WorldProvider {
  /** The name in `--world`, `CAIRN_WORLD` and the config. */
  readonly name: string;
  /** The settings that name its stores. */
  readonly settings: readonly WorldSetting[];
  /** The service that drives its runs, for humans; null: a process of the user supervises the store. */
  readonly driver: string | null;
  readonly can: Readonly<Record<Capability, boolean>>;
  /** Reads the settings that name its stores. Opens nothing. */
  configure(said: GivenSettings): Configured;
  /**
   * The seal keys that the environment names in this world's way; null: it names none.
   *
   * @throws SealKeyInvalid
   */
  sealKeys(places: Places): Promise<SealKeys | null>;
}

/**
 * What a world can do:
 * - `rollout`: it publishes versions of its code.
 * - `agentFiles`: it runs agents of any file, also of one that no config names.
 * - `kill`: its beats run in processes of this machine, which `cairn chaos` may kill.
 */
export type Capability = "rollout" | "agentFiles" | "kill";

export interface WorldSetting {
  readonly name: string;
  /** The environment variable of the setting. */
  readonly variable: string;
}

/** Where a process finds its settings. */
export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The current directory, as an absolute path. */
  readonly cwd: string;
}

/** The settings that the user passes to `configure`. */
export interface GivenSettings extends Places {
  /** Options as the user typed them, by the name of their setting. */
  readonly options: Readonly<Record<string, string | undefined>>;
  /** Values of `cairn.config.ts`, by the name of their setting; paths are absolute. */
  readonly config: Readonly<Record<string, string | undefined>>;
}

export type Configured =
  | { readonly kind: "configured"; readonly world: ConfiguredWorld }
  /** The settings do not name a store. */
  | { readonly kind: "invalid"; readonly trouble: Misconfigured };

/** What is wrong with the settings, for an error message. */
export interface Misconfigured {
  readonly code: string;
  readonly what: string;
  readonly why: string;
  /** A command to type; null: the same command again, after the settings are corrected. */
  readonly next: string | null;
  readonly facts?: Readonly<Record<string, readonly string[]>>;
}

/** A world whose stores are named, but not open. */
export interface ConfiguredWorld {
  /** Where its runs are: the directory of a store, or the ARN of a state machine. */
  readonly place: string;
  /** The options that select this world and place from any directory. */
  readonly words: readonly string[];
  /** False if there is no store yet: the first run creates it. */
  isThere(): boolean;
  /**
   * Opens its stores. With `create`, it creates missing ones.
   *
   * @throws StoreInvalid, StoreTooNew, StoreForeign, StoreUnusable, StoreUnreachable
   */
  open(options: OpenWorldOptions): Promise<OpenedWorld>;
  /**
   * Looks for a secret as its runs would, even if there is no store yet.
   *
   * @throws StoreUnreachable
   */
  findSecret(name: string): Promise<SecretLook>;
  /** Checks everything that runs need, and changes nothing. What cannot be checked is `unknown`. */
  diagnose(options: DiagnoseOptions): Promise<Diagnosis>;
  readonly agents: AgentSource;
  /** Null if the world publishes no versions of its code. */
  readonly rollout: (() => Promise<RolloutPort>) | null;
  /** Null if its services have backups of their own. */
  readonly backups: Backups | null;
}

export interface OpenWorldOptions {
  readonly create: boolean;
  readonly limits: Limits;
  readonly sealKeys: SealKeys;
  /**
   * How thoroughly a store is checked when it is opened.
   * - `none`: not at all, for a reader of a damaged store.
   * - `supervisor`: also a large store, for the one process that drives its runs.
   * - Absent: as much as an interactive command can wait for.
   */
  readonly check?: "none" | "supervisor";
}

export interface DiagnoseOptions {
  readonly limits: Limits;
  /** Also checks what a production deployment needs. What it lacks fails the check. */
  readonly production: boolean;
  /** Reads all of a store, however large it is; absent: what is indexed of a large one. */
  readonly whole?: boolean;
  /** The agents of cairn.config.ts; null: there is none. */
  readonly agents: readonly string[] | null;
  /** The agents that a deployment of this config isolates from each other. */
  readonly isolated: readonly string[];
  /** Builds a command that the user can type, for the same store. */
  readonly command: (...words: readonly string[]) => string;
  /** Called before each look, with what is looked at. */
  readonly onLook: (what: string) => void;
  /** Called before a look that blocks the process for long. */
  readonly onLong: (what: string) => void;
}

/**
 * Where a run's agent comes from. `files`: from any file. `deployed`: from the deployed config; `why` explains this to
 * the author of another file.
 */
export type AgentSource = { readonly kind: "files" } | { readonly kind: "deployed"; readonly why: string };

/** A world with open stores. */
export interface OpenedWorld {
  readonly world: World;
  /** The operator as the services of the world know them, such as an ARN; null: the user of this machine. */
  readonly operator: string | null;
  /** How often a watched run is polled, in milliseconds. */
  readonly pollMs: number;
  /** The process or service that drives its runs now; null: none. */
  attendant(): Attendant | null;
  /** Null if a service drives the runs, not a process of the user. */
  readonly supervision: Supervision | null;
  /** The agent files that the store remembers; null if it remembers none. */
  readonly agentFiles: AgentFiles | null;
  /** Deletes at once what a purged run leaves to the supervisor. Does nothing if a service deletes it. */
  finishRemoval(incarnation: Incarnation): void;
  close(): void;
}

/** The process or service that drives the runs of a store. */
export interface Attendant {
  /** For programs: a process ID, or the name of the world. */
  readonly id: number | string;
  /** For humans: `process 4711`. */
  readonly name: string;
}

/** The agent files that a store remembers, for agents outside of the config. */
export interface AgentFiles {
  /** The absolute path of the file from which that agent was last started in this store, or null. */
  find(agent: string): string | null;
  /**
   * Remembers the agent's file. With `keepOther`, it does not replace another existing file, and returns that file's
   * path. Otherwise runs of one file could continue with the code of another.
   */
  remember(origin: { readonly agent: string; readonly file: string; readonly keepOther: boolean }): string | null;
}
