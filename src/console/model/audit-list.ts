/** The audit log in the browser, put together from pages: the newest is read again, older ones come on request. */
import type { AuditEntry } from "../../operations/access/audit.ts";

/** Newest first. An entry that was read again replaces what was known of it: its outcome is added later. */
export function withEntries(known: readonly AuditEntry[], read: readonly AuditEntry[]): readonly AuditEntry[] {
  const all = new Map([...known, ...read].map((entry) => [entry.id, entry]));
  // IDs sort by time.
  return [...all.values()].toSorted((one, other) => (one.id < other.id ? 1 : -1));
}
