/**
 * The removal of rows: by `purge`, and by a `create` that finds an expired row in its place. Both remove the row of one
 * incarnation only, so that the clean-up knows which incarnation is gone.
 */
import type { RowDecision } from "./row-decision.ts";
import {
  type Changed,
  type Creation,
  type Refused,
  type Row,
  type RunRef,
  newRow,
  hasEnded,
  isExpired,
} from "./row.ts";
import { type Tombstone, isKept } from "./tombstone.ts";

export type PurgeOutcome = (Changed<"purged"> & { readonly removes: true }) | Changed<"kept"> | Refused;

/** Decides a purge. Schedule 41: a run stays until its end has been delivered, or its parent would wait for ever. */
export const decidePurge = (row: Row): Exclude<PurgeOutcome, Refused> =>
  hasEnded(row) && row.endNotified ? { kind: "purged", row, removes: true } : { kind: "kept", row };

/** `missing` may be the effect of this request's own first copy. */
export const PURGE: RowDecision<RunRef, PurgeOutcome> = { name: "purge", decision: decidePurge };

/** The outcome of a `create`. `over`: the expired row that is removed first, and reported as removed. */
export type CreateDecision =
  | (Changed<"created"> & { readonly over: Row | null })
  /** The same run with the same input. */
  | Changed<"exists">
  /** The same run with another input or agent. */
  | Changed<"conflict">
  | KeyKept;

/** A run with this key has ended and its data is gone, but its key is still kept. The caller compares the inputs. */
export interface KeyKept {
  readonly kind: "ended";
  readonly tombstone: Tombstone;
}

/**
 * The time by which a row must have expired to make room. Schedule 104: it has come by every clock, since removal is
 * final.
 */
export const expiryThreshold = ({ now, earliest = now }: Pick<Creation, "now" | "earliest">): number => earliest;

/**
 * Decides a `create`.
 *
 * Schedule 32: an expired row is removed as its own incarnation before the new row is written. If it were overwritten,
 * the clean-up would never delete its objects.
 *
 * Schedules 81 and 82: row and tombstone are judged in one atomic step with the write. Otherwise a run could begin and
 * end between the judgement and the write.
 */
export function decideCreate(found: Row | null, tombstone: Tombstone | null, creation: Creation): CreateDecision {
  const at = expiryThreshold(creation);
  if (found !== null && !isExpired(found, at)) {
    const same = found.inputDigest === creation.inputDigest && found.agent === creation.agent;
    return { kind: same ? "exists" : "conflict", row: found };
  }
  if (tombstone !== null && isKept(tombstone, at)) return { kind: "ended", tombstone };
  return { kind: "created", row: newRow(creation), over: found };
}
