/**
 * World: everything outside of the core, such as stores, chain, time and randomness. Handlers and agents behave the
 * same in every world. A new world implements these ports and nothing else.
 */
import type { Hash } from "../core/ids.ts";
import type { Kernel } from "../core/transition.ts";
import type { StoredSizes } from "./stored-sizes.ts";
import type { Limits } from "../protocol/limits.ts";
import type { ClockDoubt } from "../protocol/steadiness.ts";
import type { Chain } from "./chain.ts";
import type { DeltaLog } from "./delta-log.ts";
import type { Inbox } from "./inbox.ts";
import type { Intrinsics } from "./intrinsics.ts";
import type { MutexLeases } from "./mutex-leases.ts";
import type { ObjectLinks, ObjectStore } from "./object-store.ts";
import type { ReadingInTurns } from "./reading.ts";
import type { Records } from "./records.ts";
import type { RunPlaces } from "./run-places.ts";
import type { Row } from "../protocol/row.ts";
import type { RunTable } from "./run-table.ts";
import type { SealKeys } from "./seal-keys.ts";
import type { Secrets } from "./secrets.ts";
import type { Spans } from "./spans.ts";
import type { Webhooks } from "./webhooks.ts";

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /**
   * A time that has come by every clock that this process can ask, at most `now()`. It decides what cannot be taken
   * back: that a run or a gate has expired, or that something is removed (schedule 104).
   */
  earliest(): number;
  /**
   * The time by a count that nobody can set, where `now()` is not that time; absent where it is. It decides what may be
   * neither too early nor too late: the end of a wait for a time (schedule 234).
   */
  counted?(): number;
  /** Why the wall clock is not believed, or null; absent where nothing is known about it. */
  doubt?(): ClockDoubt | null;
  /**
   * Calls `call` once, `delayMs` from now. The returned function cancels it. A process that was held up meanwhile first
   * reads what has arrived, so that it judges nobody as silent who has answered (schedule 230).
   */
  after(delayMs: number, call: () => void): () => void;
}

export interface Random {
  /** 64 random lower-case hex digits. */
  hex(): string;
}

/** One structured record of something notable. It never holds a secret or a whole value. */
export interface TelemetryRecord {
  readonly at: number;
  readonly run: string;
  readonly level: "trace" | "alarm";
  readonly what: string;
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
}

export interface Telemetry {
  record(record: TelemetryRecord): void;
  /** Absent: nobody traces the runs. */
  readonly spans?: Spans;
}

/** What a world implements: its stores, its chain, and what else lies outside of the rules. */
export interface Stores {
  readonly table: RunTable;
  readonly inbox: Inbox;
  readonly leases: MutexLeases;
  readonly records: Records;
  readonly deltas: DeltaLog;
  readonly objects: ObjectStore;
  /** Absent: the object store has no URLs. */
  readonly links?: ObjectLinks;
  readonly chain: Chain;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Telemetry;
  readonly secrets: Secrets;
  readonly sealKeys: SealKeys;
  /** Absent: no endpoint hears of the runs. */
  readonly webhooks?: Webhooks;
  /** Where a run is in the services of this world; absent: they have no places that a human could open. */
  readonly placesOf?: (row: Row) => RunPlaces;
  /** Absent: this process runs no code of agents, or shares none with other runs. */
  readonly intrinsics?: Intrinsics;
  /**
   * Says that code of an agent begins to run for that run; the returned function, that it has ended. What is announced can
   * be read after the process is gone. Absent: nobody reads it.
   */
  readonly announce?: (code: { readonly run: string; readonly what: string }) => () => void;
  /** Absent: this process reads for one caller only, or does nothing beside it. */
  readonly reading?: ReadingInTurns;
  /** Who holds the store that accesses wait for, in a sentence; null: no process. Absent: no access waits here. */
  readonly heldBy?: () => string | null;
  readonly limits: Limits;
  readonly sizes: StoredSizes;
  readonly hash: Hash;
}

/** A world that drives runs: its stores, and the rules of a run. */
export interface World extends Stores {
  readonly kernel: Kernel;
}

/** The store does not answer, or cannot work: it is full, read-only or gone. No decision was made. */
export class StoreUnreachable extends Error {
  override readonly name: string = "StoreUnreachable";
  readonly code: string = "StoreUnreachable";
  /** The store in words: `the table runs`. */
  readonly store: string;

  constructor(
    message: string,
    { store = "the store", cause }: { readonly store?: string; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.store = store;
  }
}
