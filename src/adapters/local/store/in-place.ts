/**
 * Checks, before each transaction, that the open store is still the one in the directory, with all its commits. A
 * process that went on with another file, or with an older one, would repeat effects that have happened. It finds:
 *
 * - Another file, or none, under the store's name, and another write-ahead log, or none. SQLite would go on writing to
 *   files without a name, and processes that start later would not see those writes.
 * - A write-ahead log that became shorter. SQLite reads the zeros in its place as pages.
 * - Fewer commits than this process has seen, or than `cairn.mark` counts. The file `cairn.mark` beside the store holds
 *   the number of the last durable commit. It is not synced itself: it counts no commit that a power loss can take back,
 *   and a power loss can only make it older.
 *
 * Bytes that are copied over the file in use are found only at the next open. Until then the memory and the log of
 * SQLite hide them.
 */
import { closeSync, constants, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Durable } from "../../../core/policy/durability.ts";
import { StoreReplaced, StoreRolledBack } from "./store-errors.ts";

/** The watch over an open store. */
export interface InPlace {
  /** The store's random ID from its creation. */
  readonly id: string;
  /** The commits that `cairn.mark` counts and the file lacks. */
  readonly lacks: number;
  /** Throws `StoreReplaced` or `StoreRolledBack`. */
  readonly assert: () => void;
  /** The same before a transaction, whose `count` looks into the store itself. */
  readonly assertFiles: () => void;
  /**
   * Performs `access` inside the transaction that has begun, and counts a durable commit if it changes anything. A
   * power loss can take back the others, so none of them is missed.
   */
  readonly count: <T>(access: () => T, durable: Durable | "shared") => T;
  /** Call it when the transaction is committed. */
  readonly committed: () => void;
  /** The number of the newest durable commit that this process knows of. */
  readonly seen: () => number;
  /** Call it when the disk has that commit. */
  readonly mark: (count: number) => void;
  readonly close: () => void;
}

/** Starts the watch over a store that was just opened. */
export function inPlace({
  dir,
  file,
  rows,
}: {
  readonly dir: string;
  readonly file: string;
  readonly rows: DatabaseSync;
}): InPlace {
  const counters = countersIn(rows);
  const { id } = counters.read();
  const anotherStore = (): StoreReplaced => new StoreReplaced(dir, "was replaced by another one");
  /** The commits that the store counts, if it is still the same one. */
  const countNow = (): number => {
    const found = counters.read();
    if (found.id !== id) throw anotherStore();
    return found.count;
  };
  const opened = { file: placeOf(file), log: placeOf(logOf(file)) };
  let logBytes = opened.log?.bytes ?? 0;
  const mark = markIn(dir, id);
  // The mark first: each commit is durable before the mark counts it, so a store that lost nothing has that many and perhaps
  // more. The other way round, a commit of another process in between would look like one that was lost.
  // Twice: a read may meet half of a write, and 109 that becomes 110 would look like 119.
  const marked = Math.min(mark.read(), mark.read());
  let seen = countNow();
  /** The number of commits with the current transaction, which may still be refused. */
  let next = seen;
  /** The newest commit that the mark of this process counts. */
  let onDisk = seen;
  const lacks = Math.max(0, marked - seen);

  const assertFiles = (): void => {
    const now = placeOf(file);
    if (now === null) throw new StoreReplaced(dir, "was removed");
    if (now.is !== opened.file?.is) throw anotherStore();
    assertLog();
  };
  const assertLog = (): void => {
    const log = placeOf(logOf(file));
    if (log?.is !== opened.log?.is) throw withoutLog({ dir, rows, isGone: log === null });
    const bytes = log?.bytes ?? 0;
    // The log of a store in use becomes shorter only if a tool has written all of it back to the file.
    if (bytes < logBytes && !holds(file, seen)) throw new StoreRolledBack(dir, "its write-ahead log was cut");
    logBytes = bytes;
  };
  return {
    id,
    lacks,
    assertFiles,
    assert: () => {
      assertFiles();
      countNow();
    },
    count: (access, durable) => {
      const count = countNow();
      if (count < seen) throw new StoreRolledBack(dir, `it has ${count} commits, and ${seen} were made`);
      seen = count;
      next = count;
      if (durable === "later") return access();
      const before = counters.changes();
      const result = access();
      const isCounted = counters.changes() !== before;
      if (isCounted) next = counters.bump();
      return result;
    },
    committed: () => {
      seen = next;
    },
    seen: () => seen,
    mark: (count) => {
      if (count <= onDisk) return;
      onDisk = count;
      mark.write(count);
    },
    close: mark.close,
  };
}

/** What the open store says of itself. */
function countersIn(rows: DatabaseSync) {
  const select = rows.prepare(
    "SELECT (SELECT value FROM meta WHERE name = 'store') AS id, (SELECT count FROM commits) AS count",
  );
  const changes = rows.prepare("SELECT total_changes() AS changes");
  const bump = rows.prepare(
    "INSERT INTO commits (one, count) VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count",
  );
  return {
    read: (): { readonly id: string; readonly count: number } => {
      const found = select.get();
      return { id: String(found?.["id"]), count: Number(found?.["count"] ?? 0) };
    },
    changes: (): number => Number(changes.get()?.["changes"]),
    bump: (): number => Number(bump.get()?.["count"]),
  };
}

const logOf = (file: string): string => `${file}-wal`;

/** The identity and length of the file of that name; null for none. */
function placeOf(file: string): { readonly is: string; readonly bytes: number } | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : { is: `${found.dev} ${found.ino}`, bytes: Number(found.size) };
}

function withoutLog({
  dir,
  rows,
  isGone,
}: {
  readonly dir: string;
  readonly rows: DatabaseSync;
  readonly isGone: boolean;
}): StoreReplaced {
  if (!isGone) return new StoreReplaced(dir, "got another write-ahead log");
  // This process still has the log open, so the commits can be written back to the file, which is still in place.
  rows.exec("PRAGMA wal_checkpoint(PASSIVE)");
  return new StoreReplaced(dir, "lost its write-ahead log");
}

/** True if a new connection finds that many commits in the file; this process has pages in memory. */
function holds(file: string, commits: number): boolean {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    return Number(db.prepare("SELECT count FROM commits").get()?.["count"] ?? 0) >= commits;
  } catch {
    return false;
  } finally {
    db.close();
  }
}

const MARK_BYTES = 64;

/** The file with the number of the last commit: `STORE-ID COMMITS`. The mark of another store is ignored. */
function markIn(dir: string, id: string) {
  const { O_RDWR, O_CREAT } = constants;
  let fd: number | null = openSync(join(dir, "cairn.mark"), O_RDWR | O_CREAT, 0o600);
  return {
    read: (): number => {
      const bytes = Buffer.alloc(MARK_BYTES);
      if (fd !== null) readSync(fd, bytes, 0, MARK_BYTES, 0);
      const [of, count] = bytes.toString("utf8").trim().split(" ");
      return of === id && /^\d+$/.test(count ?? "") ? Number(count) : 0;
    },
    write: (count: number): void => {
      try {
        if (fd !== null) writeSync(fd, `${id} ${count}`.padEnd(MARK_BYTES - 1) + "\n", 0);
      } catch {
        // The mark stays older than the store, so a loss of the commits in between is not found.
      }
    },
    /** Closes it only once, since another file may get its descriptor afterwards. */
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}
