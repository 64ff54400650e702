/** Compare-and-swap of a record that many processes change, such as a counter. */
import { Unreadable } from "../codec/canonical.ts";
import type { AddOutcome, RecordKey, ReplaceOutcome, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite } from "./resolve-ambiguous-write.ts";

type Stores = Pick<World, "records" | "clock">;

interface Swap {
  readonly key: RecordKey;
  readonly tenant: string;
  /** `Unreadable`: the record is damaged. */
  readonly found: StoredRecord | Unreadable | null;
  readonly body: StoredRecord["body"];
}

/** As `swapRecordUntil`, for a record that is kept for so many seconds from now on. */
export const swapRecord = (world: Stores, { keptSeconds, ...swap }: Swap & { readonly keptSeconds: number }) =>
  swapRecordUntil(world, { ...swap, expiresAtSec: Math.ceil(world.clock.now() / 1_000) + keptSeconds });

/**
 * Stores the record if it is still as `found`; null: if there is none. False: another process has changed it since the
 * read, or the first copy of this very write was stored and its answer was lost. `expiresAtSec`: null keeps it for good.
 */
export async function swapRecordUntil(
  { records, clock }: Stores,
  { key, tenant, found, body, expiresAtSec }: Swap & Pick<StoredRecord, "expiresAtSec">,
): Promise<boolean> {
  const now = clock.now();
  const fresh = { ...key, tenant, at: now, body, expiresAtSec };
  const outcome = await resolveAmbiguousWrite<AddOutcome | ReplaceOutcome>(
    () => {
      if (found === null) return records.add(fresh, now);
      if (found instanceof Unreadable) return records.overwriteDamaged(fresh, now);
      return records.replace({ ...found, body, expiresAtSec }, now);
    },
    () => null,
  );
  return outcome.kind === "added" || outcome.kind === "replaced";
}
