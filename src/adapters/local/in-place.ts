/**
 * Is the store that was opened still the one in the directory, with all that was committed to it? Looked at before each
 * transaction, because a process that goes on with another file, or with an older one, does effects again that are done.
 *
 * - Another file, or none, under its name; another write-ahead log, or none. SQLite would go on writing into files that have
 *   no name any more, and processes that begin later would not see it.
 * - A write-ahead log that became shorter. SQLite takes the zeros in its place for pages.
 * - Fewer commits than this process has seen, or than `cairn.mark` tells of. The file `cairn.mark` lies beside the store and
 *   holds the number of the last commit. It is written after each commit and not synced: it tells of no commit that
 *   is not durable, and a power loss can only make it older.
 *
 * Bytes that are copied over the file while processes use it are not found before the next open: what SQLite holds in memory
 * and in the log hides them.
 */
import { closeSync, constants, openSync, readSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreReplaced, StoreRolledBack } from "./store-errors.ts";

export interface InPlace {
  /** Random, given to the store at its creation. */
  readonly id: string;
  /** How many commits `cairn.mark` counts that the file lacks. */
  readonly lacks: number;
  /** Throws `StoreReplaced` or `StoreRolledBack`. */
  readonly assert: () => void;
  /** Performs `access` inside of the transaction that has begun, and counts it if it changes anything. */
  readonly count: <T>(access: () => T) => T;
  /** The transaction is durable. */
  readonly committed: () => void;
  readonly close: () => void;
}

export function inPlace(of: { readonly dir: string; readonly file: string; readonly rows: DatabaseSync }): InPlace {
  const { dir, file, rows } = of;
  const selectId = rows.prepare("SELECT value FROM meta WHERE name = 'store'");
  const idNow = (): string => String(selectId.get()?.["value"]);
  const selectCount = rows.prepare("SELECT count FROM commits");
  const countNow = (): number => Number(selectCount.get()?.["count"] ?? 0);
  const changes = rows.prepare("SELECT total_changes() AS changes");
  const bump = rows.prepare(
    "INSERT INTO commits (one, count) VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1 RETURNING count",
  );
  const id = idNow();
  const opened = { file: placeOf(file), log: placeOf(logOf(file)) };
  let logBytes = opened.log?.bytes ?? 0;
  let seen = countNow();
  /** With the transaction that is under way, which may still be refused. */
  let next = seen;
  const mark = markIn(dir, id);
  const lacks = Math.max(0, mark.read() - seen);

  const assertLog = (): void => {
    const log = placeOf(logOf(file));
    if (log?.is !== opened.log?.is) throw withoutLog({ dir, rows, isGone: log === null });
    const bytes = log?.bytes ?? 0;
    // The log of a store in use never becomes shorter, unless a tool has written all of it back to the file.
    if (bytes < logBytes && !holds(file, seen)) throw new StoreRolledBack(dir, "its write-ahead log was cut");
    logBytes = bytes;
  };
  return {
    ...{ id, lacks },
    assert: () => {
      const now = placeOf(file);
      if (now === null) throw new StoreReplaced(dir, "was removed");
      if (now.is !== opened.file?.is) throw new StoreReplaced(dir, "was replaced by another one");
      assertLog();
      if (idNow() !== id) throw new StoreReplaced(dir, "was replaced by another one");
    },
    count: (access) => {
      const count = countNow();
      if (count < seen) throw new StoreRolledBack(dir, `it has ${count} commits, and ${seen} were made`);
      seen = count;
      next = count;
      const before = changes.get()?.["changes"];
      const result = access();
      if (changes.get()?.["changes"] !== before) next = Number(bump.get()?.["count"]);
      return result;
    },
    committed: () => {
      seen = next;
      mark.write(seen);
    },
    close: mark.close,
  };
}

const logOf = (file: string): string => `${file}-wal`;

/** Which file has that name, and how long it is; null for none. */
function placeOf(file: string): { readonly is: string; readonly bytes: number } | null {
  const found = statSync(file, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : { is: `${found.dev} ${found.ino}`, bytes: Number(found.size) };
}

function withoutLog(of: {
  readonly dir: string;
  readonly rows: DatabaseSync;
  readonly isGone: boolean;
}): StoreReplaced {
  const { dir, rows, isGone } = of;
  if (!isGone) return new StoreReplaced(dir, "got another write-ahead log");
  // This process still has the log open: what was committed can be written back to the file, which lies where it lay.
  rows.exec("PRAGMA wal_checkpoint(PASSIVE)");
  return new StoreReplaced(dir, "lost its write-ahead log");
}

/** A process that reads the files anew finds that many commits: this one has pages in memory. */
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

/** The number of the last commit, beside the store: `STORE-ID COMMITS`. The mark of another store counts for nothing. */
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
        // It stays older than the store is: a loss of the commits in between is not found.
      }
    },
    /** Once: its number is another file's after that. */
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}
