/**
 * The tables of the embedded store.
 *
 * Each small table has an index over the columns that no other index holds. SQLite keeps no checksum of a page. With
 * such an index, a flipped bit makes table and index disagree, and the check at open (`integrity.ts`) reports it.
 */
import type { DatabaseSync } from "node:sqlite";
import { FINGERPRINT } from "../../../protocol/fingerprint.ts";
import { checksum, faultsIn } from "./integrity.ts";
import { StoreDamaged } from "./store-errors.ts";

/** "cair" in ASCII, in the header of the file. */
export const APPLICATION_ID = 0x63616972;
/** The version of the store's layout, in the header of the file. */
export const STORE_FORMAT = 3;

/**
 * Throws `StoreDamaged` if the description of the tables is not as cairn wrote it: SQLite would take a table with a
 * changed name for another one.
 */
export function assertSchema(db: DatabaseSync, dir: string): void {
  const { sum, text } = describedIn(db);
  if (sum !== checksum(text)) throw new StoreDamaged(dir, "its tables are not those that were made");
}

/** Stores the checksum of the description of all tables, and the fingerprint of all stored forms. */
export function recordSchema(db: DatabaseSync): void {
  const insert = db.prepare("INSERT INTO meta (name, value) VALUES ('schema', ?), ('forms', ?)");
  insert.run(checksum(describedIn(db).text), FINGERPRINT);
}

/**
 * Whether a cairn with these stored forms made the store. Also true in a damaged file: the checks that follow name the
 * damage, and what fails here fails there again.
 */
export function hasOwnFingerprint(db: DatabaseSync): boolean {
  try {
    const forms = db.prepare("SELECT value FROM meta WHERE name = 'forms'").get()?.["value"];
    return forms === FINGERPRINT || faultsIn(db, 1).length > 0;
  } catch {
    return true;
  }
}

/** The description of all tables, and its checksum as it was stored; null if there is none. */
function describedIn(db: DatabaseSync): { readonly text: string; readonly sum: string | null } {
  // One statement, so that no other process changes one of them in between.
  const found = db.prepare(
    `SELECT (SELECT value FROM meta WHERE name = 'schema') AS sum, group_concat(line, char(10)) AS text FROM
     (SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS line FROM sqlite_schema ORDER BY line)`,
  );
  return found.get() as { readonly sum: string | null; readonly text: string };
}

/** The records of a run's journal are in one range of this length. */
export const PARTS_OF_A_RUN = 65_536;

const UNNUMBERED = "rtrim(name, '0123456789')";
/** The tenant of an execution, whose name is TENANT-RUN-INCARNATION-NUMBER: a run has 26 characters, an incarnation ten. */
export const TENANT_OF_EXECUTION = `substr(${UNNUMBERED}, 1, length(${UNNUMBERED}) - 39)`;

/**
 * The tables.
 *
 * - `runs`: the row as JSON, its journal, and the columns that queries need. `parts`: journals beside their rows.
 * - `executions`: the chain.
 * - `removed`: the incarnations whose row is gone, until what they left behind is gone too.
 * - `tombstones`: the keys of ended runs. `commits`: how many there ever were.
 * - `records`: access tokens, the audit log, rates, memories and what else is kept beside runs.
 * - `deltas`, `readers`: what models are saying, and until when a reader is attached to a run.
 * - `supervisor`, `children`: the processes that work on this store, so that the next supervisor can kill what is left.
 *
 * `sum` is the checksum of the other columns. The column `parts` and the text of the row name the same range, so a flipped
 * bit in one of them removes no parts of another run.
 */
export const STORE_SCHEMA = `
PRAGMA page_size = 1024;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${STORE_FORMAT};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE INDEX metaTwice ON meta (value, name);
CREATE TABLE runs (
  run TEXT PRIMARY KEY, tenant TEXT NOT NULL, agent TEXT NOT NULL, asks INTEGER NOT NULL, status TEXT NOT NULL, statusSince INTEGER NOT NULL,
  alive INTEGER NOT NULL, expiresAtSec INTEGER, startKey TEXT, parent TEXT, row TEXT NOT NULL, journal BLOB, parts INTEGER
) STRICT;
CREATE INDEX runsByTime ON runs (tenant, statusSince, run);
CREATE INDEX runsByStatus ON runs (tenant, status, statusSince, run);
CREATE INDEX runsByAgent ON runs (tenant, agent, status, statusSince, run);
CREATE INDEX runsAsking ON runs (tenant, status, statusSince, run) WHERE asks = 1;
CREATE INDEX runsByKey ON runs (tenant, startKey, run) WHERE startKey IS NOT NULL;
CREATE INDEX runsByParent ON runs (parent, run) WHERE parent IS NOT NULL;
CREATE INDEX runsAlive ON runs (statusSince, run) WHERE alive = 1;
CREATE INDEX runsByExpiry ON runs (expiresAtSec) WHERE expiresAtSec IS NOT NULL;
CREATE TABLE parts (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TRIGGER partsOfRemoved AFTER DELETE ON runs
  WHEN old.parts = CASE WHEN json_valid(old.row) THEN old.row ->> '$.parts[0]' END
  BEGIN DELETE FROM parts WHERE id >= old.parts AND id < old.parts + ${PARTS_OF_A_RUN}; END;
CREATE TABLE inbox (
  run TEXT NOT NULL, born TEXT NOT NULL, id TEXT NOT NULL, sentAt INTEGER NOT NULL, body TEXT NOT NULL,
  sum TEXT NOT NULL, PRIMARY KEY (run, born, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inboxTwice ON inbox (id);
CREATE TABLE seen (
  run TEXT NOT NULL, born TEXT NOT NULL, id TEXT NOT NULL, digest TEXT, PRIMARY KEY (run, born, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX seenTwice ON seen (id);
CREATE TABLE turns (name TEXT PRIMARY KEY, turn TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX turnsTwice ON turns (turn);
CREATE TABLE removed (
  run TEXT NOT NULL, born TEXT NOT NULL, removedAt INTEGER NOT NULL, dueAt INTEGER NOT NULL, PRIMARY KEY (run, born)
) STRICT, WITHOUT ROWID;
CREATE INDEX removedByTime ON removed (dueAt, removedAt);
CREATE INDEX removedTwice ON removed (removedAt);
CREATE TABLE tombstones (
  run TEXT PRIMARY KEY, expiresAtSec INTEGER NOT NULL, tombstone TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstonesByExpiry ON tombstones (expiresAtSec);
CREATE INDEX tombstonesTwice ON tombstones (tombstone);
CREATE TABLE commits (one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL) STRICT;
CREATE TABLE records (
  kind TEXT NOT NULL, about TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, at INTEGER NOT NULL,
  version INTEGER NOT NULL, body TEXT NOT NULL, expiresAtSec INTEGER, sum TEXT NOT NULL, PRIMARY KEY (kind, about, id)
) STRICT;
CREATE INDEX recordsOfTenant ON records (kind, tenant, at, id);
CREATE INDEX recordsByExpiry ON records (expiresAtSec) WHERE expiresAtSec IS NOT NULL;
CREATE TABLE objects (key TEXT PRIMARY KEY, bytes BLOB NOT NULL, putAt INTEGER NOT NULL) STRICT;
CREATE TABLE deltas (
  run TEXT NOT NULL, born TEXT NOT NULL, epoch INTEGER NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL,
  at INTEGER NOT NULL, delta TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (run, born, epoch, version, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX deltasByTime ON deltas (at);
CREATE TABLE readers (run TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX readersByTime ON readers (until);
CREATE TABLE executions (
  name TEXT PRIMARY KEY, payload TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, retry INTEGER NOT NULL,
  died INTEGER, cause TEXT, changed TEXT, attempt INTEGER NOT NULL, readyAt INTEGER, seconds INTEGER NOT NULL, token TEXT UNIQUE,
  sum TEXT NOT NULL
) STRICT;
CREATE INDEX executionsReady ON executions (readyAt) WHERE readyAt IS NOT NULL;
CREATE INDEX executionsOfTenant ON executions (${TENANT_OF_EXECUTION}, readyAt) WHERE readyAt IS NOT NULL;
CREATE INDEX executionsTrying ON executions (stage) WHERE stage = 'trying';
CREATE TABLE supervisor (
  one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER NOT NULL, startedAt TEXT NOT NULL, since INTEGER NOT NULL
) STRICT;
CREATE INDEX supervisorTwice ON supervisor (pid, startedAt, since);
CREATE TABLE children (
  pid INTEGER NOT NULL, startedAt TEXT NOT NULL, PRIMARY KEY (pid, startedAt)
) STRICT, WITHOUT ROWID;
CREATE INDEX childrenTwice ON children (startedAt);
COMMIT;
`;
