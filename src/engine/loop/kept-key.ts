/**
 * Keeps the idempotency key of a run that ends. The tombstone is written before the row's time to live starts. From
 * that start on the row may be removed, and with it everything else that knows the key (schedule 81).
 *
 * A process may die between the two writes. The end is undelivered then, so the retry or the sweeper repeats both
 * writes.
 */
import { type Row } from "../../protocol/row.ts";
import { type End, type Tombstone, endIn, tombstoneOf } from "../../protocol/tombstone.ts";
import type { World } from "../../ports/world.ts";
import { resolveAmbiguousWrite } from "../../history/resolve-ambiguous-write.ts";

/** Writes the tombstone and returns it. `expiresAtSec` is when the row itself expires, in epoch seconds. */
export async function keepKey(
  world: World,
  { row, end, expiresAtSec }: { readonly row: Row; readonly end: End; readonly expiresAtSec: number },
): Promise<Tombstone> {
  const tombstone = tombstoneOf(row, { ...end, expiresAtSec, keptMs: world.limits.keyRetentionMs });
  await resolveAmbiguousWrite<{ readonly kind: "kept" }>(
    () => world.table.keepKey(tombstone),
    () => null,
  );
  return tombstone;
}

/** The same for a run whose row already names its end. Does nothing for a run that has not ended. */
export async function keepKeyOfEnded(world: World, row: Row, expiresAtSec: number): Promise<void> {
  const end = endIn(row);
  if (end !== null) await keepKey(world, { row, end, expiresAtSec });
}
