/** Damage as a value, for callers that go on without the damaged part, and the check for data that is only gone. */
import { Unreadable } from "../codec/canonical.ts";
import { type Found, RowUnreadable } from "../codec/row.ts";
import type { RecordKey, StoredRecord } from "../ports/records.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";

/** The row, or its damage as a value where `read` rejects: one damaged row must not stop the work on other runs. */
export async function findRow(world: Pick<World, "table">, run: string, now: number): Promise<Found | null> {
  try {
    return await world.table.read(run, now);
  } catch (error) {
    if (error instanceof RowUnreadable) return error;
    throw error;
  }
}

/** The record, or its damage as a value where `get` rejects. */
export async function findRecord(
  { records }: Pick<World, "records">,
  key: RecordKey,
  now: number,
): Promise<StoredRecord | Unreadable | null> {
  try {
    return await records.get(key, now);
  } catch (error) {
    if (error instanceof Unreadable) return error;
    throw error;
  }
}

/** Reads; null if the run was cleaned up or purged during the read, since missing objects are no damage then. */
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
