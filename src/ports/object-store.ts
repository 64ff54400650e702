/**
 * ObjectStore: immutable objects under keys. The contract:
 *
 * - `put` creates and never replaces. If an object exists under that key, whatever its bytes, it returns `exists`. Once
 *   `stored` is returned the object is durable, or becomes durable no later than any row written afterwards (payload
 *   first, pointer last).
 * - `get` returns what was put, or null. Readers follow pointers and never list keys. Only the search for orphans does.
 * - `ambiguous` as in RunTable. Putting the same bytes again is always safe.
 * - Rejects only with `StoreUnreachable`.
 */
import type { Durable } from "../core/policy/durability.ts";
import type { Ambiguous } from "./run-table.ts";

export type PutOutcome = { readonly kind: "stored" } | { readonly kind: "exists" } | Ambiguous;

/** A key that `keysAfter` found. */
export interface FoundKey {
  readonly key: string;
  /** When it was put, by the store's own clock, epoch milliseconds. */
  readonly putAt: number;
}

export interface ObjectStore {
  /** `durable` as in a commit; for a caller that writes no row afterwards. A store that always waits ignores it. */
  put(key: string, bytes: Uint8Array, durable?: Durable): Promise<PutOutcome>;
  get(key: string): Promise<Uint8Array | null>;
  /**
   * The first keys after `after` in the order of their UTF-8 bytes, at most `limit`. Fewer do not mean that there are no
   * more, but none does.
   */
  keysAfter(after: string, limit: number): Promise<readonly FoundKey[]>;
  /**
   * Deletes exactly the objects whose key starts with `prefix`. Resolves once that is durable. A repeated call deletes
   * what is left or came since. Objects that are put meanwhile may stay.
   */
  removeUnder(prefix: string): Promise<void>;
  /** The permanent ID of this store. A table and an object store that are used together have the same one. */
  storeId(): Promise<string>;
}

/** Signed URLs of objects, for a store that others can reach over the network. */
export interface ObjectLinks {
  /** A URL at which anyone may read the object for `seconds`. A browser saves it under that name, as that type. */
  linkTo(
    key: string,
    link: { readonly seconds: number; readonly fileName: string; readonly contentType?: string },
  ): Promise<string>;
}
