/**
 * Mutex leases: named, expiring mutual exclusion with a cursor, such as for the sweep. Two sweepers at once would hand
 * over one run to each other, and each would fence the other's end of it for ever (schedule 46). The lease relies on
 * clocks and only avoids wasted work; safety comes from the epoch of each run.
 */

/** A mutex lease: its owner, its expiry, and how far the last owner got. */
export interface MutexLease {
  readonly name: string;
  readonly owner: string;
  /** The time at which it expires, epoch milliseconds. An owner gives it up by taking it until now. */
  readonly until: number;
  /** Where the next owner goes on; absent keeps the stored cursor. */
  readonly cursor?: string | null;
  /**
   * This owner renews its own lease. The renewal is refused once another owner has taken the lease, expired or not. So
   * a process that lost its lease cannot overwrite the cursor of its successor.
   */
  readonly again?: true;
  readonly now: number;
}

/** The outcome of taking a mutex lease. */
export type MutexLeaseOutcome =
  /** `cursor`: what the last owner left. */
  | { readonly kind: "taken"; readonly cursor: string | null }
  /** Another owner holds it, or held it since this owner did. */
  | { readonly kind: "held"; readonly until: number };

/**
 * Decides whether `turn` is granted. `before` is the last lease that was taken under this name, or null. After `taken`,
 * the world stores what `storedMutexLease` returns.
 */
export function decideMutexLease(before: MutexLease | null, turn: MutexLease): MutexLeaseOutcome {
  const isAnothers = before !== null && before.owner !== turn.owner && turn.now < before.until;
  const isOver = turn.again === true && before?.owner !== turn.owner;
  if (isAnothers || isOver) return { kind: "held", until: before?.until ?? turn.now };
  return { kind: "taken", cursor: before?.cursor ?? null };
}

/** What is stored of a mutex lease that is taken. */
export function storedMutexLease(
  before: MutexLease | null,
  { name, owner, until, cursor, now }: MutexLease,
): MutexLease {
  return { name, owner, until, cursor: cursor === undefined ? (before?.cursor ?? null) : cursor, now };
}

/** The cursor of this mutex lease says when a sweep last judged every live run; epoch milliseconds. */
export const LAST_SWEEP_OF_ALL = "sweep of all";

/** The cursor of this mutex lease says when the last search for orphans ended; epoch milliseconds. */
export const LAST_ORPHANS_SEARCH = "orphans: last pass";
