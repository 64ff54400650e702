/**
 * ObjectStore: immutable objects under keys. The contract:
 *
 * - `put` creates and never replaces: an object under that key, whatever its bytes, gives `exists`. Once `stored` is
 *   returned the object is durable, or becomes durable no later than any row written afterwards (payload first,
 *   pointer last).
 * - `get` returns what was put, or null. There is no listing: readers follow pointers.
 * - `ambiguous` as in RunTable; putting the same bytes again is always right.
 * - Rejects only with `StoreUnreachable`.
 */
import type { Ambiguous } from "./run-table.ts";

export type PutOutcome = { readonly kind: "stored" } | { readonly kind: "exists" } | Ambiguous;

export interface ObjectStore {
  put(key: string, bytes: Uint8Array): Promise<PutOutcome>;
  get(key: string): Promise<Uint8Array | null>;
}
