/**
 * A world as surfaces see it: how its stores are named, opened and diagnosed, and what it can do. The command line knows
 * worlds by this contract alone, so a new world is one folder in `adapters` and one line in the list of providers
 * (`cli/worlds.ts`).
 *
 * A provider, what it configures and what it opens are three values, since each knows more: its name; where its stores are;
 * the stores themselves.
 */
import type { Incarnation } from "../protocol/row.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Diagnosis } from "./diagnosis.ts";
import type { RolloutPort } from "./rollout.ts";
import type { SealKeys } from "./seal-keys.ts";
import type { SecretLook } from "./secrets.ts";
import type { Supervision } from "./supervision.ts";
import type { World } from "./world.ts";

/** A line of the list of providers. What a world needs is loaded with its provider, and no command loads that of another. */
export interface WorldEntry {
  readonly name: string;
  /** Its options of every command. */
  readonly options: readonly WorldOption[];
  readonly load: () => Promise<WorldProvider>;
}

export interface WorldOption {
  /** The name of the setting that it says. */
  readonly name: string;
  /** `--store <dir>` */
  readonly flags: string;
  readonly says: string;
}

export interface WorldProvider {
  /** As `--world`, `CAIRN_WORLD` and the config name it. */
  readonly name: string;
  /** What the user names its stores by. */
  readonly settings: readonly WorldSetting[];
  /** What drives its runs, for people: a service; null: a process of the user, which supervises the store. */
  readonly driver: string | null;
  readonly can: Readonly<Record<Capability, boolean>>;
  /** Reads what the user says about its stores, and opens nothing. */
  configure(said: Said): Configured;
  /**
   * The seal keys that the environment names in the way of this world; null: it names none.
   *
   * @throws SealKeyInvalid
   */
  sealKeys(places: Places): Promise<SealKeys | null>;
}

/**
 * `rollout`: it publishes versions of its code. `agentFiles`: it runs agents of any file, also of one that no config names.
 * `kill`: its beats run in processes of this machine, which `cairn chaos` may kill.
 */
export type Capability = "rollout" | "agentFiles" | "kill";

export interface WorldSetting {
  readonly name: string;
  /** The variable of the environment that says it. */
  readonly variable: string;
}

/** Where a process finds what it was told. */
export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly cwd: string;
}

export interface Said extends Places {
  /** Options as they were typed, by the name of their setting. */
  readonly options: Readonly<Record<string, string | undefined>>;
  /** What `cairn.config.ts` says of them, absolute; by the same names. */
  readonly config: Readonly<Record<string, string | undefined>>;
}

export type Configured =
  | { readonly kind: "configured"; readonly world: ConfiguredWorld }
  /** What is said does not name its stores. */
  | { readonly kind: "invalid"; readonly trouble: Misconfigured };

export interface Misconfigured {
  readonly code: string;
  readonly what: string;
  readonly why: string;
  /** A command to type; null: the same command again, once that is mended. */
  readonly next: string | null;
  readonly facts?: Readonly<Record<string, readonly string[]>>;
}

/** A world whose stores are named, and not open. */
export interface ConfiguredWorld {
  /** Where its runs are: the directory of a store, or the ARN of a machine. */
  readonly place: string;
  /** Words to type that name this world and place from any directory. */
  readonly words: readonly string[];
  /** False where there is no store yet: the first run makes it. */
  isThere(): boolean;
  /**
   * Opens its stores; with `create`, makes them where there are none.
   *
   * @throws StoreInvalid, StoreTooNew, StoreUnusable, StoreUnreachable
   */
  open(options: OpenWorldOptions): Promise<OpenedWorld>;
  /**
   * Looks for a secret as its runs would, also where there is no store yet.
   *
   * @throws StoreUnreachable
   */
  findSecret(name: string): Promise<SecretLook>;
  /** Looks at everything that runs need, and changes nothing. Whatever cannot be looked at is `unknown`. */
  diagnose(options: DiagnoseOptions): Promise<Diagnosis>;
  readonly agents: AgentSource;
  /** Null where no version of its code is published. */
  readonly rollout: (() => Promise<RolloutPort>) | null;
}

export interface OpenWorldOptions {
  readonly create: boolean;
  readonly limits: Limits;
  readonly sealKeys: SealKeys;
  /**
   * How much of a store is checked when it is opened: `none`, for a reader of what can still be read; `supervisor`, for the
   * one process that is to drive its runs; as much as a command may wait for, unless told.
   */
  readonly check?: "none" | "supervisor";
}

export interface DiagnoseOptions {
  readonly limits: Limits;
  /** Also what a deployment in earnest needs: what it lacks fails. */
  readonly production: boolean;
  /** The agents that a deployment of this config isolates from each other. */
  readonly isolated: readonly string[];
  /** Makes a command to type for the same store. */
  readonly command: (...words: readonly string[]) => string;
  /** Hears what is being looked at now. */
  readonly onLook: (what: string) => void;
  /** Hears of a look that keeps the process busy for long, before it begins. */
  readonly onLong: (what: string) => void;
}

/** `deployed`: its runs have the agents of the config that was deployed; `why` says so to the author of another file. */
export type AgentSource = { readonly kind: "files" } | { readonly kind: "deployed"; readonly why: string };

/** A world with open stores. */
export interface OpenedWorld {
  readonly world: World;
  /** How often a run that is being watched is read, milliseconds. */
  readonly pollMs: number;
  /** Who works on its runs now; null: no process does. */
  attendant(): Attendant | null;
  /** Null where no process of the user drives its runs. */
  readonly supervision: Supervision | null;
  /** The files of agents that the store knows; null where it knows none. */
  readonly agentFiles: AgentFiles | null;
  /** Removes at once what a purged run leaves to the supervisor. Nothing where a service does that. */
  finishRemoval(of: Incarnation): void;
  close(): void;
}

export interface Attendant {
  /** For programs: a process ID, or the name of the world. */
  readonly id: number | string;
  /** For people: `process 4711`. */
  readonly name: string;
}

export interface AgentFiles {
  /** The absolute path under which that agent was started last in this store, or null. */
  find(agent: string): string | null;
  /**
   * Remembers it. With `keepOther`, a file that is there and is another one stays, and is returned: runs of the one must
   * not go on with the code of the other.
   */
  remember(of: { readonly agent: string; readonly file: string; readonly keepOther: boolean }): string | null;
}
