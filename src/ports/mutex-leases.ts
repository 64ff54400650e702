/**
 * MutexLeases: named, expiring mutual exclusion with a cursor. A lease only keeps two processes from working against
 * each other; safety does not depend on it. `ambiguous` and `StoreUnreachable` are as in `run-table.ts`.
 */
import type { MutexLease, MutexLeaseOutcome } from "../protocol/mutex-lease.ts";
import type { Ambiguous } from "./run-table.ts";

export interface MutexLeases {
  /** Takes a lease that is free, expired or the caller's own. */
  take(lease: MutexLease): Promise<MutexLeaseOutcome | Ambiguous>;
  /** The cursor of the lease of that name, of any owner; null without one. */
  cursorOf(name: string): Promise<string | null>;
}
