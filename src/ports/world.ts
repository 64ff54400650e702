/**
 * A World is everything outside of the core: stores, chain, time, chance. Handlers and agents cannot tell which one
 * they are in. A third world is these ports and nothing else.
 */
import type { Hash } from "../core/ids.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Chain } from "./chain.ts";
import type { ObjectStore } from "./object-store.ts";
import type { RunTable } from "./run-table.ts";
import type { SealKeys } from "./seal-keys.ts";
import type { Secrets } from "./secrets.ts";

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * A time that has come by every clock that this process can ask, `now()` at most. What cannot be taken back is decided by
   * it: that a run has expired, that nothing waits for a gate any more, that something is removed (schedule 104).
   */
  earliest(): number;
  /** Calls back once, `delayMs` from now; the returned function takes it back. */
  after(delayMs: number, call: () => void): () => void;
}

export interface Random {
  /** 64 random lower-case hex digits. */
  hex(): string;
}

/** One structured record per notable thing; never a secret, never a whole value. */
export interface TelemetryRecord {
  readonly at: number;
  readonly run: string;
  readonly level: "trace" | "alarm";
  readonly what: string;
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
}

export interface Telemetry {
  record(record: TelemetryRecord): void;
}

export interface World {
  readonly table: RunTable;
  readonly objects: ObjectStore;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly secrets: Secrets;
  readonly sealKeys: SealKeys;
  readonly limits: Limits;
  readonly hash: Hash;
}

/** The store does not answer, or answers that it cannot: full, read-only, gone. Nothing was decided. */
export class StoreUnreachable extends Error {
  override readonly name: string = "StoreUnreachable";
  readonly code: string = "StoreUnreachable";
  /** Which one, in words: `the table runs`. */
  readonly store: string;

  constructor(
    message: string,
    { store = "the store", cause }: { readonly store?: string; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.store = store;
  }
}
