/** Damage as a value, for a caller that goes on without what is damaged, and what only looks like damage. */
import { Unreadable } from "../codec/canonical.ts";
import { type Found, RowUnreadable } from "../codec/row.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";

/** The row as it was found. A damaged one comes back as a value, where `read` rejects: it must not stop other runs. */
export async function findRow(world: Pick<World, "table">, run: string, now: number): Promise<Found | null> {
  try {
    return await world.table.read(run, now);
  } catch (error) {
    if (error instanceof RowUnreadable) return error;
    throw error;
  }
}

/** Null where the run was cleaned up or purged while it was read: its objects are gone then, and nothing is damaged. */
export async function unlessGone<T>(
  { table, clock }: Pick<World, "table" | "clock">,
  { run, born }: Row,
  read: () => Promise<T>,
): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const left = await table.read(run, clock.now());
    if (left?.born === born) throw error;
    return null;
  }
}
