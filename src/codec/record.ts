/** Refuses a damaged record to readers that cannot go on without it. Lists name it and go on (`src/ports/records.ts`). */
import { Unreadable } from "./canonical.ts";

interface Damaged {
  readonly why: string;
}

/** The record itself, or null if there is none; throws `Unreadable` for a damaged one. */
export function undamagedRecord<Found extends { readonly kind: string; readonly id: string } | null>(
  found: Found,
): Exclude<Found, Damaged> {
  if (found !== null && "why" in found) {
    throw new Unreadable(`the ${found.kind} record ${found.id} is damaged: ${String(found.why)}`, "RecordDamaged");
  }
  return found as Exclude<Found, Damaged>;
}
