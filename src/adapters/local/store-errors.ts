/**
 * What can be wrong with a store, in words for the person who meets it: what happened, why, what to do next. Callers
 * tell three cases apart. `StoreInvalid` and `StoreTooNew` are the user's to mend and nothing was touched;
 * `StoreUnreachable` may pass by itself (a disk that is emptied), so the supervisor waits and tries again;
 * `StoreReplaced` does not, so the supervisor and its workers end.
 */
import { STORE_FAULTS, StoreUnusable } from "../../ports/store-errors.ts";
import { StoreUnreachable } from "../../ports/world.ts";

/** What a worker tells of such an error, as that error. */
export function unusableIn(error: { readonly code: string | null; readonly message: string } | null) {
  const fault = STORE_FAULTS.find((each) => each === error?.code);
  return fault === undefined || error === null ? null : new StoreUnusable(fault, error.message);
}

/** Something in the file is not as SQLite or cairn wrote it. A write could make it worse, so the store refuses it. */
export class StoreDamaged extends StoreUnusable {
  constructor(dir: string, what: string, options?: ErrorOptions) {
    const message =
      `the store at ${dir} is damaged: ${what}; stop what works on it, keep a copy of the directory, save with ` +
      "`cairn export RUN` the runs that can be read, and restore cairn.sqlite from a backup";
    super("StoreDamaged", message, options);
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
      `the store at ${dir} ${what} while it was in use, and nothing was written since; what is at work there stops: put it ` +
        "back, or start again with the store that is there now",
    );
  }
}

/** Commits that were acknowledged are not in the store: what is done in runs would be done again. */
export class StoreRolledBack extends StoreUnusable {
  constructor(dir: string, what: string) {
    super(
      "StoreRolledBack",
      `the store at ${dir} lost commits that were acknowledged: ${what}; put the newest cairn.sqlite and cairn.sqlite-wal back, ` +
        `or, to go on from an older state on purpose, delete ${dir}/cairn.mark: effects of the lost commits may happen again`,
    );
  }
}

/** SQLite's primary result codes that are about the store and not about our statements. */
const CAUSES: { readonly [code: number]: { readonly why: string; readonly next: string } } = {
  5: { why: "another process kept it busy", next: "try again; if it lasts, look for a stuck process" },
  6: { why: "another process kept it busy", next: "try again; if it lasts, look for a stuck process" },
  7: { why: "there is no memory left", next: "free some memory, then try again" },
  8: { why: "it is read-only", next: "make the directory and its files writable for this user, then try again" },
  10: { why: "the disk reports an error", next: "check the disk, then try again" },
  13: { why: "the disk is full", next: "free some space, then try again; nothing is lost" },
  14: { why: "it cannot be opened", next: "check that this user may read and write the directory, then try again" },
  15: { why: "another process kept it busy", next: "try again; if it lasts, look for a stuck process" },
};

/** What the file system says while a store is opened or made. */
const FILE_CAUSES: { readonly [code: string]: number } = {
  EACCES: 14,
  EPERM: 14,
  EMFILE: 14,
  ENFILE: 14,
  EROFS: 8,
  ENOSPC: 13,
  EDQUOT: 13,
  EIO: 10,
};

/** The error as `StoreUnreachable` or `StoreDamaged` if it is the store's doing; any other, such as a mistake of ours, as it is. */
export function asStoreError(error: unknown, dir: string): unknown {
  if (!(error instanceof Error) || error instanceof StoreUnreachable) return error;
  if (isDamage(error)) return new StoreDamaged(dir, error.message, { cause: error });
  const code = sqliteCode(error) ?? FILE_CAUSES[fileCode(error) ?? ""];
  const cause = code === undefined ? undefined : CAUSES[code];
  if (cause === undefined) return error;
  const message = `the store at ${dir} cannot be used: ${cause.why} (${error.message}); ${cause.next}`;
  return new StoreUnreachable(message, { cause: error });
}

/**
 * SQLite cannot make sense of the file (11, 26), or no statement of ours can have led to what it says: a constraint that is
 * broken (19, 20) although the same transaction has looked, or a table or column that is gone.
 */
function isDamage(error: Error): boolean {
  const code = sqliteCode(error);
  // It ends in the middle of a page.
  if ("errcode" in error && error.errcode === 522) return true;
  if (code === 1) return /^no such (?:table|column|index)|has no column named|^malformed JSON/.test(error.message);
  return code !== null && [11, 19, 20, 26].includes(code);
}

/** The file is no database at all. */
export const isGarbage = (error: unknown): boolean => error instanceof Error && sqliteCode(error) === 26;

export function fileCode(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

/** Extended codes carry the primary one in their low byte. */
function sqliteCode(error: Error): number | null {
  return "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : null;
}
