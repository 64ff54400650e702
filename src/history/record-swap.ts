/** Compare-and-swap of a record that many processes change, such as a counter. */
import type { RecordKey, StoredRecord } from "../ports/records.ts";
import type { World } from "../ports/world.ts";
import { resolveAmbiguousWrite } from "./resolve-ambiguous-write.ts";

/**
 * Stores the record if it is still as `found`; null: if there is none. False: another process has changed it since the
 * read, or the first copy of this very write was stored and its answer was lost.
 */
export async function swapRecord(
  { records, clock }: Pick<World, "records" | "clock">,
  of: {
    readonly key: RecordKey;
    readonly tenant: string;
    readonly found: StoredRecord | null;
    readonly body: StoredRecord["body"];
    readonly keptSeconds: number;
  },
): Promise<boolean> {
  const { key, tenant, found, body } = of;
  const now = clock.now();
  const expiresAtSec = Math.ceil(now / 1_000) + of.keptSeconds;
  const outcome = await resolveAmbiguousWrite<{ readonly kind: "added" | "exists" | "replaced" | "changed" }>(
    () =>
      found === null
        ? records.add({ ...key, tenant, at: now, body, expiresAtSec }, now)
        : records.replace({ ...found, body, expiresAtSec }, now),
    () => null,
  );
  return outcome.kind === "added" || outcome.kind === "replaced";
}
