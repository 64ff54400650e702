/** Reading a row that may be damaged, for a caller that goes on without it: one damaged row must not stop other runs. */
import { type Found, RowUnreadable } from "../codec/row.ts";
import type { World } from "../ports/world.ts";

/** The row as it was found. A damaged one comes back as a value, where `read` rejects. */
export async function findRow(world: Pick<World, "table">, run: string, now: number): Promise<Found | null> {
  try {
    return await world.table.read(run, now);
  } catch (error) {
    if (error instanceof RowUnreadable) return error;
    throw error;
  }
}
