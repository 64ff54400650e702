/**
 * Backups of an embedded store. Everything that a store consists of is in its database: rows, journals, objects,
 * messages, executions. (`cairn.mark` only says how many commits this folder has seen, and begins anew with a restored
 * store. Seal keys and secrets are in the environment.)
 *
 * The copy is read from one snapshot. Its connection holds a read transaction from the first page to the last one, so
 * commits of other processes go on and never make the copy begin again. They wait in the write-ahead log meanwhile.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync, backup } from "node:sqlite";
import { sentenceOf } from "../../../codec/value.ts";
import { BEFORE_RELEASE, type Foreign, OTHER_SCHEMAS } from "../../../protocol/foreign.ts";
import { BackupRefused, type OnShare } from "../../../ports/backups.ts";
import { makeFolder } from "../make-folder.ts";
import { type Store, openStore } from "./database.ts";
import { faultsIn } from "./integrity.ts";
import { APPLICATION_ID, STORE_FORMAT, hasOwnFingerprint } from "./schema.ts";
import { asStoreError, fileCode } from "./store-errors.ts";
import { syncFile, syncFolder } from "./sync-path.ts";

/** 4 MB of pages. Progress is told, and the process can be ended, between two steps. */
const PAGES_AT_ONCE = 4_096;

/** Copies the open store to a new file. */
export async function takeBackup(
  store: Store,
  { file, onShare }: { readonly file: string; readonly onShare: OnShare },
): Promise<{ readonly bytes: number }> {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw alreadyThere(file);
  const part = unfinished(file, "part");
  const source = new DatabaseSync(join(store.dir, "cairn.sqlite"), { readOnly: true });
  try {
    makeFolder(dirname(file));
    removeUnfinished(file, "part");
    closeSync(openSync(part, "wx", 0o600));
    // The first read fixes the snapshot.
    source.exec("BEGIN");
    source.prepare("SELECT value FROM meta WHERE name = 'store'").get();
    await backup(source, part, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) => onShare(1 - remainingPages / Math.max(1, totalPages)),
    });
    complete(part, file);
    syncFile(part);
    putInPlace(part, file);
    syncFolder(dirname(file));
    return { bytes: statSync(file).size };
  } catch (cause) {
    throw backupError(cause, { file, dir: store.dir });
  } finally {
    source.close();
    removeFiles(part);
  }
}

/** Gives the finished copy its name. Fails if something has that name. */
function putInPlace(part: string, file: string): void {
  try {
    linkSync(part, file);
  } catch (error) {
    if (!WITHOUT_LINKS.has(fileCode(error) ?? "")) throw error;
    // Reserves the name, so that the rename replaces no other file.
    closeSync(openSync(file, "wx", 0o600));
    renameSync(part, file);
  }
}

/** What file systems without hard links say, such as FAT and exFAT on removable disks. */
const WITHOUT_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/** Makes the copy one plain file without the processes of this machine, and checks it as a whole. */
function complete(part: string, file: string): void {
  const db = new DatabaseSync(part);
  try {
    db.exec("PRAGMA journal_mode = DELETE");
    forgetProcesses(db);
    assertWhole(db, file);
  } finally {
    db.close();
  }
}

/** The next supervisor kills the processes that its store names. Those belong to the store of the backup. */
function forgetProcesses(db: DatabaseSync): void {
  db.exec("DELETE FROM supervisor; DELETE FROM children");
}

function assertWhole(db: DatabaseSync, file: string): void {
  const [fault] = faultsIn(db, 1);
  if (fault !== undefined) throw damaged(file, fault);
}

/** Makes a store in `dir` from the file. `settle` gets it under another name, and then it is put into place. */
export async function restoreBackup({
  file,
  dir,
  settle,
}: {
  readonly file: string;
  readonly dir: string;
  readonly settle: (store: Store) => Promise<void>;
}): Promise<void> {
  refuseUnlessEmpty(dir);
  const fresh = unfinished(dir, "restoring");
  let store: Store | null = null;
  try {
    makeFolder(dirname(dir));
    removeUnfinished(dir, "restoring");
    copyChecked(file, fresh);
    store = openStore({ dir: fresh, create: false });
    await settle(store);
    store.close();
    store = null;
    // Fails if the folder got a content meanwhile.
    renameSync(fresh, dir);
    syncFolder(dirname(dir));
  } catch (cause) {
    throw backupError(cause, { file, dir });
  } finally {
    store?.close();
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** The check is of the copy, since SQLite may write beside the file that it reads. */
function copyChecked(file: string, fresh: string): void {
  mkdirSync(fresh, { mode: 0o700 });
  writeFileSync(join(fresh, ".gitignore"), "*\n");
  const copy = join(fresh, "cairn.sqlite");
  copyFileSync(file, copy);
  chmodSync(copy, 0o600);
  const db = new DatabaseSync(copy);
  try {
    const numberOf = (pragma: string): unknown => Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0];
    const format = Number(numberOf("user_version"));
    if (numberOf("application_id") !== APPLICATION_ID) throw invalid(file, "it was not written by cairn");
    if (format < STORE_FORMAT) throw foreign(file, BEFORE_RELEASE);
    if (format > STORE_FORMAT)
      throw invalid(file, `it has store format ${format}, and this cairn restores format ${STORE_FORMAT}`);
    if (!hasOwnFingerprint(db)) throw foreign(file, OTHER_SCHEMAS);
    assertWhole(db, file);
    forgetProcesses(db);
  } finally {
    db.close();
  }
  syncFile(copy);
}

function refuseUnlessEmpty(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false });
  if (found === undefined || (found.isDirectory() && readdirSync(dir).length === 0)) return;
  const what = `${dir} is not empty, so nothing is restored into it`;
  throw new BackupRefused("RestoreRefused", { what, why: "a restore never replaces a store or another file" });
}

/** A name beside the final one, with the process that writes it. */
const unfinished = (path: string, kind: string): string =>
  `${path}.${kind}-${process.pid}-${randomBytes(4).toString("hex")}`;

/** Removes what a killed process left beside this path. */
function removeUnfinished(path: string, kind: string): void {
  const prefix = `${basename(path)}.${kind}-`;
  for (const name of readdirSync(dirname(path))) {
    const [, pid] = name.startsWith(prefix) ? (/^(\d+)-[0-9a-f]{8}/.exec(name.slice(prefix.length)) ?? []) : [];
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(dirname(path), name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return fileCode(error) === "EPERM";
  }
}

function removeFiles(part: string): void {
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(part + suffix, { force: true });
}

function backupError(cause: unknown, { file, dir }: { readonly file: string; readonly dir: string }): unknown {
  if (cause instanceof BackupRefused) return cause;
  const code = fileCode(cause);
  if (code === "EEXIST") return alreadyThere(file);
  const isFileFault = ["ENOENT", "EACCES", "EPERM", "EISDIR", "ENOTDIR", "EROFS"].includes(code ?? "");
  if (code === "ENOENT" && statSync(file, { throwIfNoEntry: false }) === undefined)
    return invalid(file, "there is no such file", cause);
  if (isFileFault) return invalid(file, sentenceOf(cause), cause);
  const known = asStoreError(cause, dir);
  if (known instanceof Error && "code" in known && known.code === "StoreDamaged")
    return damaged(file, sentenceOf(cause), cause);
  return known;
}

const alreadyThere = (file: string): BackupRefused =>
  new BackupRefused("BackupExists", { what: `${file} already exists`, why: "a backup never replaces a file" });

const invalid = (file: string, why: string, cause?: unknown): BackupRefused =>
  new BackupRefused("BackupInvalid", { what: `${file} cannot be used as a backup`, why }, cause);

const foreign = (file: string, { code, says }: Foreign): BackupRefused =>
  new BackupRefused(code, { what: `${file} cannot be restored by this cairn`, why: `it ${says}` });

const damaged = (file: string, why: string, cause?: unknown): BackupRefused =>
  new BackupRefused("BackupDamaged", { what: `the backup ${file} is damaged`, why }, cause);
