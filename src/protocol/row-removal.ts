/**
 * How a row makes room: by `purge`, and for a `create` that finds an expired one in its place. Both remove the row of
 * one incarnation only, so that whoever cleans up after it is told which one went.
 */
import { type Changed, type Creation, type Refused, type Row, created, hasEnded, isExpired } from "./row.ts";
import { type Tombstone, isKept } from "./tombstone.ts";

export type PurgeOutcome = Changed<"purged"> | Changed<"kept"> | Refused;

/** Schedule 41: a run whose end is not told stays, or its parent would wait for ever. */
export const purged = (row: Row): Exclude<PurgeOutcome, Refused> => ({
  kind: hasEnded(row) && row.told ? "purged" : "kept",
  row,
});

/** `over`: the expired row that has to go first, and to be told as removed. */
export type Placed =
  | (Changed<"created"> & { readonly over: Row | null })
  /** The same run with the same input. */
  | Changed<"exists">
  /** The same run with another input or agent. */
  | Changed<"conflict">
  | Ended;

/** A run of that key has ended and its data is gone; the key is still kept. Whether the input was the same, the caller tells. */
export interface Ended {
  readonly kind: "ended";
  readonly tombstone: Tombstone;
}

/** Schedule 104: by every clock, since a run that has made room is gone. */
export const madeRoomBy = ({ now, earliest = now }: Pick<Creation, "now" | "earliest">): number => earliest;

/**
 * Schedule 32: an expired row is not overwritten. It is removed as itself, or its prefix would never be cleaned.
 * Schedules 81 and 82: row and tombstone are judged in one atomic step with the write, or a run could come and go between.
 */
export function placed(found: Row | null, tombstone: Tombstone | null, creation: Creation): Placed {
  const at = madeRoomBy(creation);
  if (found !== null && !isExpired(found, at)) {
    const same = found.inputDigest === creation.inputDigest && found.agent === creation.agent;
    return { kind: same ? "exists" : "conflict", row: found };
  }
  if (tombstone !== null && isKept(tombstone, at)) return { kind: "ended", tombstone };
  return { kind: "created", row: created(creation), over: found };
}
