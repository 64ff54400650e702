/**
 * The idempotency key of a run that ends. Its tombstone is written before the row's time to live starts: that start is the
 * first moment from which on the row may go, and with it whatever else knows the key (schedule 81).
 *
 * A process may die between the two writes. The end is untold then, so the retry or the sweeper writes both again.
 */
import { type Row } from "../../protocol/row.ts";
import { type End, type Tombstone, endIn, tombstoneOf } from "../../protocol/tombstone.ts";
import type { World } from "../../ports/world.ts";
import { certainly } from "../../history/resolve-ambiguous-write.ts";

/** `expiresAtSec`: when the time of the row itself is over. */
export async function keepKey(
  world: World,
  of: { readonly row: Row; readonly end: End; readonly expiresAtSec: number },
): Promise<Tombstone> {
  const { row, end, expiresAtSec } = of;
  const tombstone = tombstoneOf(row, { ...end, expiresAtSec, keptMs: world.limits.keyRetentionMs });
  await certainly<{ readonly kind: "kept" }>(
    () => world.table.keepKey(tombstone),
    () => null,
  );
  return tombstone;
}

/** The same for a run whose row tells its end. */
export async function keepKeyOfEnded(world: World, row: Row, expiresAtSec: number): Promise<void> {
  const end = endIn(row);
  if (end !== null) await keepKey(world, { row, end, expiresAtSec });
}
