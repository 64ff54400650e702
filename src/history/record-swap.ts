/** Compare-and-swap of a record that many processes change, such as a counter. */
import type { RecordKey, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite } from "./resolve-ambiguous-write.ts";

type Stores = Pick<World, "records" | "clock">;

interface Swap {
  readonly key: RecordKey;
  readonly tenant: string;
  readonly found: StoredRecord | null;
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
  of: Swap & Pick<StoredRecord, "expiresAtSec">,
): Promise<boolean> {
  const { key, tenant, found, body, expiresAtSec } = of;
  const now = clock.now();
  const outcome = await resolveAmbiguousWrite<{ readonly kind: "added" | "exists" | "replaced" | "changed" }>(
    () =>
      found === null
        ? records.add({ ...key, tenant, at: now, body, expiresAtSec }, now)
        : records.replace({ ...found, body, expiresAtSec }, now),
    () => null,
  );
  return outcome.kind === "added" || outcome.kind === "replaced";
}
