/**
 * The errors of a store. Each message says what happened, why, and what to do next. Callers distinguish three cases:
 *
 * - `StoreInvalid` and `StoreTooNew`: the user must fix it, and nothing was touched.
 * - `StoreUnreachable`: it may pass by itself, such as a full disk, so the supervisor waits and retries. `StoreClosed` is
 *   one too, since another process can still use the store.
 * - `StoreUnusable`: it does not pass, so the supervisor and its workers end.
 */
import { StoreInvalid, StoreUnusable } from "../../../ports/store-errors.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { storeHolder } from "./store-holder.ts";

/** Something in the file is not as SQLite or cairn wrote it. A write could make it worse, so the store refuses it. */
export class StoreDamaged extends StoreUnusable {
  constructor(dir: string, what: string, options?: ErrorOptions) {
    const message =
      `the store at ${dir} is damaged: ${what}; stop every process that uses it, copy the directory, export the ` +
      "readable runs with `cairn export RUN`, and restore cairn.sqlite from a backup";
    super("StoreDamaged", message, options);
  }
}

/** The value of a JSON text of the store. Throws `StoreDamaged` if it is none: cairn writes no such text. */
export function parseStored(dir: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StoreDamaged(dir, "a value in it is no JSON", { cause: error });
  }
}

/**
 * The file was removed, or another file took its place, while it was in use. A write to the old file would be lost, so the
 * store refuses it.
 */
export class StoreReplaced extends StoreUnusable {
  constructor(dir: string, what: string) {
    super(
      "StoreReplaced",
      `the store at ${dir} ${what} while it was in use, and nothing was written since; every process that used it ` +
        "stops: restore it, or start again with the store that is there now",
    );
  }
}

/** Acknowledged commits are missing in the store, so runs would repeat effects that have happened. */
export class StoreRolledBack extends StoreUnusable {
  /** `files` are to be deleted if that is on purpose. */
  constructor(dir: string, what: string, files = `${dir}/cairn.mark`) {
    super(
      "StoreRolledBack",
      `the store at ${dir} lost commits that were acknowledged: ${what}; put the newest cairn.sqlite and cairn.sqlite-wal back, ` +
        `or, to continue from an older state on purpose, delete ${files}: effects of the lost commits may happen again`,
    );
  }
}

/** Another process holds the store. Nothing of the access happened, so it may be repeated as it is. */
export class StoreHeld extends StoreUnreachable {}

/** Who holds the store, and what to do. */
function heldBy(dir: string): { readonly why: string; readonly next: string } | null {
  const holder = storeHolder(dir);
  if (holder === null) return null;
  const { pid, program, isStopped } = holder;
  if (!isStopped)
    return { why: `process ${pid} (${program}) kept it busy`, next: `try again; if this persists, end that process` };
  const next = `let it go on with: kill -CONT ${pid}, or end it with: kill -KILL ${pid}; nothing is lost`;
  return { why: `process ${pid} (${program}) is stopped and holds it`, next };
}

const HELD_CODES: ReadonlySet<number> = new Set([5, 6]);

/** SQLite's primary result codes for problems of the store, not of our statements. */
const CAUSES: { readonly [code: number]: { readonly why: string; readonly next: string } } = {
  5: { why: "another process kept it busy", next: "try again; if this persists, look for a stuck process" },
  6: { why: "another process kept it busy", next: "try again; if this persists, look for a stuck process" },
  7: { why: "there is no memory left", next: "free some memory, then try again" },
  8: { why: "it is read-only", next: "make the directory and its files writable for this user, then try again" },
  10: { why: "the disk reports an error", next: "check the disk, then try again" },
  13: { why: "the disk is full", next: "free some space, then try again; nothing is lost" },
  14: { why: "it cannot be opened", next: "check that this user may read and write the directory, then try again" },
  15: { why: "another process kept it busy", next: "try again; if this persists, look for a stuck process" },
};

/** What a file system without locks answers to SQLite, by extended result codes of an input or output error. */
const EXCLUSIVE_FAULTS: ReadonlySet<number> = new Set([8, 9, 14, 15, 20].map((fault) => 10 + 256 * fault));

export const NEVER_EXCLUSIVE = {
  why: "its file system has no locks, which keep processes from writing at the same time",
  next: "use a directory on a local disk",
};

const FORBIDDEN = {
  why: "it cannot be opened, since this user may not search, read or write its folder or one above it",
  next: "give this user the rights, such as chmod u+rwx on that folder, or run cairn as its owner, then try again",
};

/** The longest path that SQLite takes, with what cairn and SQLite append to the name of the store. */
const PATH_BYTES_MAX = 512 - "/cairn.sqlite.0123456789abcdef.new-journal".length;

/** Whether no store can be at that path. */
export const isPathTooLong = (dir: string): boolean => Buffer.byteLength(dir) > PATH_BYTES_MAX;

export const tooLong = (dir: string, cause?: unknown): StoreInvalid =>
  new StoreInvalid(
    `the store at ${dir} cannot be used: its path is too long, since each name in it may have 255 bytes and all of it ` +
      `${PATH_BYTES_MAX}; use another directory`,
    { cause },
  );

/** Errors of the file system while a store is opened or created. */
const FILE_CAUSES: { readonly [code: string]: number } = {
  EMFILE: 14,
  ENFILE: 14,
  EROFS: 8,
  ENOSPC: 13,
  EDQUOT: 13,
  EIO: 10,
};

/** What the system says to a user without the rights. */
const WITHOUT_RIGHTS: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

/** What macOS says of a link on exFAT and FAT, the file systems of most removable disks. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(["ENOTSUP", "EOPNOTSUPP"]);
const NO_LINKS = {
  why: "its file system has no hard links",
  next: "use a directory on another disk, such as the one of the system",
};

/**
 * The error as `StoreUnreachable` or `StoreDamaged` if the store caused it; any other error, such as a bug, unchanged.
 */
export function asStoreError(error: unknown, dir: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnreachable) return error;
  if (isDamage(error)) return new StoreDamaged(dir, error.message, { cause: error });
  const fault = fileCode(error) ?? "";
  if (fault === "ELOOP")
    return new StoreInvalid(`the path ${dir} is a link that leads back to itself; name another directory`, {
      cause: error,
    });
  const code = sqliteCode(error) ?? FILE_CAUSES[fault];
  if (fault === "ENAMETOOLONG") return tooLong(dir, error);
  const cause = specialCause(error, fault) ?? (code === undefined ? undefined : CAUSES[code]);
  if (cause === undefined) return error;
  const isHeldByOther = code !== undefined && HELD_CODES.has(code);
  const { why, next } = (isHeldByOther ? heldBy(dir) : null) ?? cause;
  const message = `the store at ${dir} cannot be used: ${why} (${error.message}); ${next}`;
  return isHeldByOther ? new StoreHeld(message, { cause: error }) : new StoreUnreachable(message, { cause: error });
}

function specialCause(error: Error, fault: string): { readonly why: string; readonly next: string } | null {
  if (WITHOUT_LINKS.has(fault)) return NO_LINKS;
  if (WITHOUT_RIGHTS.has(fault)) return FORBIDDEN;
  return "errcode" in error && typeof error.errcode === "number" && EXCLUSIVE_FAULTS.has(error.errcode)
    ? NEVER_EXCLUSIVE
    : null;
}

/** True if SQLite found a lock that another connection holds; so does a file system that refuses every lock. */
export const isHeldByOther = (error: unknown): boolean =>
  error instanceof Error && [5, 6, 15].includes(sqliteCode(error) ?? 0);

/**
 * True if SQLite cannot read the file (11, 26), or reports an error that no statement of cairn can cause. Such errors
 * are a broken constraint (19, 20) that the same transaction has checked, and a missing table or column.
 */
function isDamage(error: Error): boolean {
  const code = sqliteCode(error);
  // The file ends in the middle of a page.
  if ("errcode" in error && error.errcode === 522) return true;
  if (code === 1)
    return /^no such (?:table|column|index)|has no column named|^duplicate column name|^malformed JSON/.test(
      error.message,
    );
  return code !== null && [11, 19, 20, 26].includes(code);
}

/** True if the file is not a database. */
export const isGarbage = (error: unknown): boolean => error instanceof Error && sqliteCode(error) === 26;

/** The `code` of a system error, such as `ENOENT`, or null. */
export function fileCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** The primary result code: the low byte of an extended code. */
function sqliteCode(error: Error): number | null {
  return "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : null;
}
