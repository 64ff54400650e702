/**
 * Checks that the file of a store is undamaged, when the store is opened. SQLite follows a damaged pointer without an
 * error if it still leads somewhere. Then a run may be missing in one list and present in another, or a message may be
 * lost.
 *
 * The check reads every page except those of large values, whose digests are compared at every read. For 122 MB it
 * takes 75 ms from memory, or as long as the disk needs, and longer the more entries the indexes have. So at open up to
 * 32 MB are checked (20 ms). Of a larger store the supervisor checks one table after the other while it works
 * (`background-check.ts`), and all of it at open if the machine ended under the supervisor before it.
 * `cairn doctor --whole-store` checks all of it on request.
 */
import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { canonical } from "../../../codec/canonical.ts";
import type { Json } from "../../../core/json.ts";
import { StoreDamaged } from "./store-errors.ts";

const MB = 1024 * 1024;

/** The largest file in bytes that is checked at open. A worker relies on its supervisor. */
export const CHECKED_BYTES = { none: -1, worker: -1, bounded: 32 * MB, supervisor: 32 * MB } as const;

/** Throws `StoreDamaged` if the file is damaged. Skips files above `bytesMax`. */
export function assertSound(
  db: DatabaseSync,
  { dir, bytesMax }: { readonly dir: string; readonly bytesMax: number },
): void {
  if (sizeOf(db) > bytesMax) return;
  const [fault] = faultsIn(db, 1);
  if (fault !== undefined) throw new StoreDamaged(dir, fault);
}

/** The file is larger than that: by default too large for a check at open. */
export const isLarge = (db: DatabaseSync, bytesMax: number = CHECKED_BYTES.supervisor): boolean =>
  sizeOf(db) > bytesMax;

/** What SQLite finds wrong in the file, `max` faults at most; empty for an undamaged file. */
export function faultsIn(db: DatabaseSync, max: number): readonly string[] {
  const found = db.prepare(`PRAGMA integrity_check(${max})`).all();
  return found.map((row) => String(Object.values(row)[0]).replace(/^\*\*\*.*\n/, "")).filter((line) => line !== "ok");
}

/** The size in bytes, with what is still in the write-ahead log. */
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
