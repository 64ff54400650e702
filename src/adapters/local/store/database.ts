/**
 * The store of the embedded world: one SQLite file in one directory. Every process of this machine that works on its
 * runs shares it.
 *
 * All processes append to one write-ahead log, and a log is durable as a prefix. A transaction that waits for the disk
 * (`synchronous=FULL`) makes every earlier one durable too. So one that need not survive a power loss by itself does not
 * wait: an object before its pointer, the bookkeeping of an attempt before its claim, a beat before the next one. After
 * a power loss the store is what it was at some moment, and nothing that was waited for is missing.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Durable } from "../../../core/policy/durability.ts";
import { BEFORE_RELEASE, OTHER_SCHEMAS } from "../../../protocol/foreign.ts";
import { StoreClosed, StoreForeign, StoreInvalid, StoreTooNew } from "../../../ports/store-errors.ts";
import { StoreUnreachable } from "../../../ports/world.ts";
import { isOfThisBoot } from "../process-identity.ts";
import { CHECKED_BYTES, assertSound } from "./integrity.ts";
import { createFile } from "./create-file.ts";
import { orNeverExclusive } from "./exclusive-access.ts";
import { APPLICATION_ID, STORE_FORMAT, assertSchema, hasOwnFingerprint } from "./schema.ts";
import { type LogSync, logSync } from "./log-sync.ts";
import { type InPlace, inPlace } from "./in-place.ts";
import { StoreHeld, StoreRolledBack, asStoreError, isGarbage, isPathTooLong, tooLong } from "./store-errors.ts";

/** An open store. */
export interface Store {
  readonly dir: string;
  /** A random ID from its creation, so that no two stores are confused. */
  readonly id: string;
  /** The open connection. Throws `StoreClosed` once the store is closed. */
  readonly rows: DatabaseSync;
  readonly place: InPlace;
  readonly log: LogSync;
  close(): void;
}

/** How long a writer waits for another writer before the store counts as unreachable. */
const BUSY_MS = 5_000;

/** The same in a worker or a supervisor, whose deadlines and other work must not wait meanwhile: they repeat the access. */
const SHORT_BUSY_MS = 250;

/**
 * And once it has found that another process holds the store, until it gets a transaction again: each of its runs repeats
 * its access meanwhile, and a process that is always blocked says too late that it holds on.
 */
const HELD_BUSY_MS = 10;

/** Connections that wait shortly, and whether they found the store held at their last transaction. */
const isHeldFor = new WeakMap<DatabaseSync, boolean>();

/** From now on no access of this connection blocks its process for long. */
export const waitShortly = (db: DatabaseSync): void => noteHeld(db, false);

function noteHeld(db: DatabaseSync, isHeld: boolean): void {
  if (isHeldFor.get(db) === isHeld) return;
  isHeldFor.set(db, isHeld);
  db.exec(`PRAGMA busy_timeout = ${isHeld ? HELD_BUSY_MS : SHORT_BUSY_MS}`);
}

export interface OpenOptions {
  readonly dir: string;
  readonly create: boolean;
  /**
   * How much of the file is checked (`integrity.ts`). `none` lets a reader see what is still readable, also in a store
   * that lost commits.
   */
  readonly check?: keyof typeof CHECKED_BYTES;
}

/**
 * Opens the store in `dir`; with `create`, creates a missing one.
 *
 * @throws StoreInvalid, StoreTooNew, StoreForeign, StoreDamaged, StoreRolledBack (nothing was written), StoreUnreachable
 */
export function openStore({ dir, create, check = "bounded" }: OpenOptions): Store {
  const file = join(dir, "cairn.sqlite");
  let rows: DatabaseSync | null = null;
  let place: InPlace | null = null;
  try {
    if (isPathTooLong(dir)) throw tooLong(dir);
    // First, since another process may create the store meanwhile: the file, then what is beside it.
    const left = leftIn(dir);
    if (!isThere(dir, file)) {
      if (left.length > 0) throw new StoreRolledBack(dir, "cairn.sqlite is missing", left.join(" and "));
      if (!create) throw new StoreInvalid(`no store at ${dir}; start a run first`);
      createFile(dir, file);
    }
    inspect(file);
    const db = new DatabaseSync(file, { timeout: BUSY_MS });
    rows = db;
    configure(db, file);
    const isWhole = check === "supervisor" && endedWithMachine(db);
    assertSound(db, { dir, bytesMax: isWhole ? Infinity : CHECKED_BYTES[check] });
    assertSchema(db, dir);
    const watch = inPlace({ dir, file, rows: db });
    place = watch;
    if (watch.lacks > 0 && check !== "none") throw new StoreRolledBack(dir, `it lacks the last ${watch.lacks} commits`);
    if (check === "worker") waitShortly(db);
    const log = logSync(`${file}-wal`);
    const close = (): void => {
      closeBoth(db, watch);
      log.close();
    };
    return {
      dir,
      id: watch.id,
      get rows() {
        if (!db.isOpen) throw new StoreClosed(dir);
        return db;
      },
      place: watch,
      log,
      close,
    };
  } catch (error) {
    closeBoth(rows, place);
    throw asStoreError(orNeverExclusive(error, dir), dir);
  }
}

/** Whether the last supervisor never released the store, and the machine has begun anew since: power may have been lost. */
function endedWithMachine(db: DatabaseSync): boolean {
  const found = db.prepare("SELECT startedAt FROM supervisor").get();
  return found !== undefined && !isOfThisBoot({ startedAt: String(found["startedAt"]) });
}

/**
 * Runs `access` as one transaction, and resolves when the disk has it. Meanwhile other processes and other runs of this
 * one see it and go on: each waits for the disk before it lets anything out of the machine, and with it for this one.
 */
export async function durably<T>(store: Store, run: string, access: () => T): Promise<T> {
  if (!store.log.isShared(run)) return atomically(store, access);
  const { rows, dir } = store;
  const result = atomically(store, access, "shared");
  const count = store.place.seen();
  try {
    await store.log.done();
  } catch (error) {
    throw failureOf(error, { rows, dir });
  }
  store.place.mark(count);
  return result;
}

/** How long a transaction lasts: `shared` is followed by a wait for the disk that several share. */
type Wait = Durable | "shared";

/**
 * Runs `access` as one transaction. No other process writes meanwhile, so what it reads is still true when it commits.
 */
export function atomically<T>(store: Store, access: () => T, durable: Wait = "now"): T {
  const { rows, dir, place, log } = store;
  try {
    place.assertFiles();
    log.assert();
    waitFor(rows, durable);
    // IMMEDIATE: a transaction that reads first and then writes could find that its read is out of date.
    rows.exec("BEGIN IMMEDIATE");
    const result = place.count(access, durable);
    rows.exec("COMMIT");
    place.committed();
    if (durable === "now") place.mark(place.seen());
    if (isHeldFor.has(rows)) noteHeld(rows, false);
    return result;
  } catch (error) {
    rollBack(rows);
    const failure = failureOf(error, { rows, dir });
    if (failure instanceof StoreHeld && isHeldFor.has(rows)) noteHeld(rows, true);
    throw failure;
  }
}

/** Runs a single statement, which is its own transaction. */
export function reaching<T>(store: Store, access: () => T, durable: Durable = "now"): T {
  const { rows, dir, place } = store;
  try {
    place.assert();
    waitFor(rows, durable);
    return access();
  } catch (error) {
    throw failureOf(error, { rows, dir });
  }
}

/** A read on which nothing depends. It does not look whether the store is still in its place. */
export function glancing<T>({ rows, dir }: Store, access: () => T): T {
  try {
    return access();
  } catch (error) {
    throw failureOf(error, { rows, dir });
  }
}

/** Several reads of one moment. Within a transaction they are that already. `access` writes nothing. */
export function inOneRead<T>(db: DatabaseSync, access: () => T): T {
  if (db.isTransaction) return access();
  db.exec("BEGIN");
  try {
    return access();
  } finally {
    rollBack(db);
  }
}

/** Rolls back the transaction that has begun, unless SQLite did that itself: on a full disk, and when it was closed. */
export function rollBack(db: DatabaseSync): void {
  try {
    if (db.isTransaction) db.exec("ROLLBACK");
  } catch {
    // What failed first says more: Node does not even say of a closed connection whether it is in a transaction. A
    // connection that is still in one refuses the next one.
  }
}

/**
 * What a failed access throws. Whatever fails after the store is closed fails for that reason: Node refuses every use of
 * a closed connection and of its statements.
 */
export function failureOf(
  error: unknown,
  { rows, dir }: { readonly rows: DatabaseSync; readonly dir: string },
): unknown {
  if (rows.isOpen || error instanceof StoreClosed) return asStoreError(error, dir);
  return new StoreClosed(dir, { cause: error });
}

/** Connections that do not wait for the disk at present. All others do. */
const unhurried = new WeakSet<DatabaseSync>();

/** Whether the transactions that follow wait until the disk has them, and all before them. Each says so first. */
function waitFor(db: DatabaseSync, durable: Wait): void {
  if (unhurried.has(db) === (durable !== "now")) return;
  db.exec(`PRAGMA synchronous = ${durable === "now" ? "FULL" : "NORMAL"}`);
  if (durable === "now") unhurried.delete(db);
  else unhurried.add(db);
}

function isThere(dir: string, file: string): boolean {
  const folder = statSync(dir, { throwIfNoEntry: false });
  if (folder === undefined) return false;
  if (!folder.isDirectory())
    throw new StoreInvalid(`${dir} is not a directory, so it holds no store; name another directory`);
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) throw notOurs(file, "it is not a file");
  return found !== undefined;
}

/**
 * What is left in the directory of a store whose file is gone. A new file beside the old write-ahead log would be damaged,
 * and a new store would repeat what the old one has done.
 */
export const leftIn = (dir: string): readonly string[] =>
  ["cairn.mark", "cairn.sqlite-wal"]
    .map((name) => join(dir, name))
    .filter((file) => (statSync(file, NO_THROW)?.size ?? 0) > 0);

const NO_THROW = { throwIfNoEntry: false } as const;

/** Checks, read-only, that the file is a store that this code knows, before any connection could write to it. */
function inspect(file: string): void {
  const { application, version, hasOwnForms } = identify(file);
  if (application !== APPLICATION_ID) throw notOurs(file, "it was not written by cairn");
  if (version < STORE_FORMAT) throw new StoreForeign(file, { ...BEFORE_RELEASE, place: "directory" });
  if (version > STORE_FORMAT) {
    throw new StoreTooNew(
      `${file} has store format ${version}, and this cairn knows formats up to ${STORE_FORMAT}; it was left as it ` +
        "is: use the newer version of cairn that wrote it, or another directory",
    );
  }
  if (!hasOwnForms) throw new StoreForeign(file, { ...OTHER_SCHEMAS, place: "directory" });
}

interface Identity {
  readonly application: number;
  readonly version: number;
  readonly hasOwnForms: boolean;
}

function identify(file: string): Identity {
  const db = new DatabaseSync(file, { readOnly: true, timeout: BUSY_MS });
  try {
    const { application_id: application } = db.prepare("PRAGMA application_id").get() as { application_id: number };
    const { user_version: version } = db.prepare("PRAGMA user_version").get() as { user_version: number };
    const isKnown = application === APPLICATION_ID && version === STORE_FORMAT;
    return { application, version, hasOwnForms: !isKnown || hasOwnFingerprint(db) };
  } catch (error) {
    throw isGarbage(error) ? notOurs(file, "it is not a database, or its first page is damaged") : error;
  } finally {
    db.close();
  }
}

function configure(db: DatabaseSync, file: string): void {
  const { journal_mode: mode } = db.prepare("PRAGMA journal_mode = WAL").get() as { journal_mode: string };
  // Transactions keep their order over a power loss only in a write-ahead log.
  if (mode !== "wal") {
    throw new StoreUnreachable(`${file} cannot keep a write-ahead log here; use a directory on a local disk`);
  }
  const { page_size: pageBytes } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const logPages = Math.max(1, Math.round(LOG_BYTES / pageBytes));
  // On macOS a plain fsync leaves the data in the drive's cache, which a power loss empties. Elsewhere this is ignored.
  db.exec("PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON");
  db.exec(`PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = ${logPages}`);
}

/** The size of the log at which a commit writes it back to the file. A page that many commits changed is then written once. */
const LOG_BYTES = 4 * 1024 * 1024;

function notOurs(file: string, why: string): StoreInvalid {
  return new StoreInvalid(`${file} is not a cairn store: ${why}; it was left as it is, use another directory`);
}

function closeBoth(db: DatabaseSync | null, place: InPlace | null): void {
  if (db?.isOpen === true) db.close();
  place?.close();
}
