/**
 * Is the file of a store whole? SQLite follows pointers within a damaged file without a word where they still lead somewhere:
 * a run is missing in one list and there in another, or a message is nowhere. So a store is checked when it is opened.
 *
 * The check reads every page but those of large values, whose digests are compared whenever they are read: 122 MB take 75 ms
 * from memory, and as long as the disk needs where they are not in memory. A command waits for that only up to 32 MB (20 ms); the
 * supervisor of a store, which is opened once, up to 1 GB (0.6 s). What is larger is checked by `cairn doctor`.
 */
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { canonical } from "../../codec/canonical.ts";
import type { Json } from "../../core/json.ts";
import { StoreDamaged } from "./store-errors.ts";

const MB = 1024 * 1024;

/** How large a file is checked at open. A worker relies on its supervisor. */
export const CHECKED_BYTES = { none: -1, worker: -1, bounded: 32 * MB, supervisor: 1024 * MB } as const;

/** Throws `StoreDamaged`. */
export function assertSound(
  db: DatabaseSync,
  { dir, bytesMax }: { readonly dir: string; readonly bytesMax: number },
): void {
  if (sizeOf(db) > bytesMax) return;
  const [fault] = faultsIn(db, 1);
  if (fault !== undefined) throw new StoreDamaged(dir, fault);
}

/** What SQLite finds wrong in the file, the first of it; none: it is whole. */
export function faultsIn(db: DatabaseSync, max: number): readonly string[] {
  const found = db.prepare(`PRAGMA integrity_check(${max})`).all();
  return found.map((row) => String(Object.values(row)[0]).replace(/^\*\*\*.*\n/, "")).filter((line) => line !== "ok");
}

/** With what is still in the write-ahead log. */
function sizeOf(db: DatabaseSync): number {
  const numberOf = (pragma: string): number => Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  return numberOf("page_count") * numberOf("page_size");
}

/** Finds changed bits, and no forgery: that is why it is short. */
export function checksum(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, 16);
}

/** The checksum of an entry's columns, for a table that no other check covers. */
export const sumOf = (columns: Json): string => checksum(canonical(columns));
