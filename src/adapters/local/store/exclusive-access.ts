/**
 * Whether the file system of a folder has locks. SQLite cannot tell a lock that is refused from one that another process
 * holds. So a file that no other process knows is locked: if that fails, no lock can be taken there.
 */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreUnreachable } from "../../../ports/world.ts";
import { NEVER_EXCLUSIVE, isHeldByOther } from "./store-errors.ts";

/** True unless a lock of a file of its own was refused. A folder that cannot be written says nothing. */
export function allowsExclusive(dir: string, tryExclusive: (file: string) => void = openExclusively): boolean {
  const file = join(dir, `cairn.${randomBytes(8).toString("hex")}.lock`);
  try {
    tryExclusive(file);
    return true;
  } catch (error) {
    return !isHeldByOther(error);
  } finally {
    for (const suffix of ["", "-journal"]) rmSync(file + suffix, { force: true });
  }
}

function openExclusively(file: string): void {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE; ROLLBACK");
  } finally {
    db.close();
  }
}

/** The error, or one that says that there are no locks. */
export function orNeverExclusive(error: unknown, dir: string, has: typeof allowsExclusive = allowsExclusive): unknown {
  if (!isHeldByOther(error) || has(dir)) return error;
  const message = `the store at ${dir} cannot be used: ${NEVER_EXCLUSIVE.why}; ${NEVER_EXCLUSIVE.next}`;
  return new StoreUnreachable(message, { cause: error });
}
