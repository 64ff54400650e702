/**
 * Records: small documents of a tenant that belong to no incarnation of a run: access tokens, the audit log, and the
 * state of rate limits. They have their own retention, so the record of a purge outlives the run that it removed.
 *
 * - Every write is one atomic conditional write. `ambiguous` and `StoreUnreachable` are as in `run-table.ts`.
 * - An expired record is absent for every operation, deleted or not. The world deletes it some time later.
 * - A damaged record is one whose body cannot be read. `get` and `add` reject with `RecordDamaged`. A list names it and
 *   goes on. `overwriteDamaged` alone puts another record in its place.
 * - `get` and a list of one subject are consistent. A list of a tenant may lag a moment behind.
 */
import type { Json } from "../core/json.ts";
import type { Ambiguous } from "./run-table.ts";

/** The bytes of a body as JSON: an item of DynamoDB has at most 400 KB with its keys and names. */
export const RECORD_BODY_BYTES_MAX = 384 * 1024;

/**
 * `audit`: who did what. `token`: access tokens. `rate`: how much of a rate a tenant has used. `webhook`: notifications
 * that are not delivered yet. `callback`: links with which an outside service reports to a run. `memoryEntry`: what
 * agents remember. `source`: what their tools fetched.
 */
export type RecordKind = "audit" | "token" | "rate" | "webhook" | "callback" | "memoryEntry" | "source";

export interface RecordKey {
  readonly kind: RecordKind;
  /** What it is about: a run, a tenant, or the ID of a token. */
  readonly about: string;
  /** Unique among the records about the same subject. Lists of a subject are sorted by it. */
  readonly id: string;
}

/** A record without its version. */
export interface NewRecord extends RecordKey {
  readonly tenant: string;
  /** When it was made, epoch milliseconds. Lists of a tenant are sorted by it, then by `id`. */
  readonly at: number;
  readonly body: Json;
  /** Seconds since 1970; null: never. */
  readonly expiresAtSec: number | null;
}

export interface StoredRecord extends NewRecord {
  /** From 1. Each replacement raises it by 1. */
  readonly version: number;
}

/** A record that cannot be read. `why` never quotes stored data. */
export interface DamagedRecord extends RecordKey {
  readonly why: string;
}

export type AddOutcome = { readonly kind: "added" } | { readonly kind: "exists"; readonly record: StoredRecord };
export type ReplaceOutcome = { readonly kind: "replaced" } | { readonly kind: "changed" };

/** Newest first. `next`: the cursor of the next page; null if there is none. A page may be short and have a next one. */
export interface RecordPage {
  readonly records: readonly StoredRecord[];
  /** Records that belong on this page and cannot be read. */
  readonly damaged: readonly DamagedRecord[];
  readonly next: string | null;
}

export interface Records {
  /** Adds the record with version 1, unless there is one with this key. */
  add(record: NewRecord, now: number): Promise<AddOutcome | Ambiguous>;
  /** Replaces body and expiry of the record that has the version of `record`. */
  replace(record: StoredRecord, now: number): Promise<ReplaceOutcome | Ambiguous>;
  /**
   * Puts the record, with version 1, in the place of a damaged one with its key. `changed`: there is no damaged one, so
   * nothing is written.
   */
  overwriteDamaged(record: NewRecord, now: number): Promise<ReplaceOutcome | Ambiguous>;
  get(key: RecordKey, now: number): Promise<StoredRecord | null>;
  list(query: {
    readonly kind: RecordKind;
    /** All records of a tenant, or all about one subject. */
    readonly by: { readonly tenant: string } | { readonly about: string };
    /** A cursor of an earlier page; an unknown one gives an empty page. */
    readonly after: string | null;
    readonly limit: number;
    readonly now: number;
  }): Promise<RecordPage>;
}

/** A record as an adapter found it. */
export type FoundRecord = StoredRecord | DamagedRecord;

export const isDamagedRecord = (found: FoundRecord): found is DamagedRecord => "why" in found;

export const damagedRecord = ({ kind, about, id }: RecordKey, why: string): DamagedRecord => ({ kind, about, id, why });

/** Splits what a store listed into readable records and damaged ones. */
export const partedRecords = (found: readonly FoundRecord[]): Pick<RecordPage, "records" | "damaged"> => ({
  records: found.flatMap((each) => (isDamagedRecord(each) ? [] : [each])),
  damaged: found.filter(isDamagedRecord),
});

export const isRecordExpired = ({ expiresAtSec }: Pick<StoredRecord, "expiresAtSec">, now: number): boolean =>
  expiresAtSec !== null && expiresAtSec * 1_000 <= now;
