/**
 * The tables of the embedded store, and what a store of an earlier cairn lacks of them.
 *
 * Each small table has an index over the columns that no other index holds. SQLite keeps no checksum of a page. With
 * such an index, a flipped bit makes table and index disagree, and the check at open (`integrity.ts`) reports it.
 */
import type { DatabaseSync } from "node:sqlite";
import { checksum } from "./integrity.ts";
import { StoreDamaged } from "./store-errors.ts";

/** "cair" in ASCII, in the header of the file. */
export const APPLICATION_ID = 0x63616972;
/** The version of the store's layout, in the header of the file. */
export const STORE_FORMAT = 2;

/**
 * Adds missing tables, columns and indexes; two processes may do so at once. Writes nothing to a complete store. Throws
 * `StoreDamaged` if the description of the tables is not as cairn wrote it: SQLite would take a table with a changed
 * name for another one.
 */
export function completeSchema(db: DatabaseSync, dir: string): void {
  const { sum, text } = describedIn(db);
  if (sum !== null && sum !== checksum(text)) throw new StoreDamaged(dir, "its tables are not those that were made");
  if (sum !== null && lackingIn(db).length === 0) return;
  db.exec("BEGIN IMMEDIATE");
  for (const sql of lackingIn(db)) db.exec(sql);
  recordSchema(db);
  db.exec("COMMIT");
}

/** Stores the checksum of the description of all tables. */
export function recordSchema(db: DatabaseSync): void {
  const insert = db.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('schema', ?)");
  insert.run(checksum(describedIn(db).text));
}

/** The description of all tables, and its checksum as it was stored; null in a store of an earlier cairn. */
function describedIn(db: DatabaseSync): { readonly text: string; readonly sum: string | null } {
  // One statement, so that no other process changes one of them in between.
  const found = db.prepare(
    `SELECT (SELECT value FROM meta WHERE name = 'schema') AS sum, group_concat(line, char(10)) AS text FROM
     (SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') AS line FROM sqlite_schema ORDER BY line)`,
  );
  return found.get() as { readonly sum: string | null; readonly text: string };
}

/** The statements that add what the store lacks. */
function lackingIn(db: DatabaseSync): readonly string[] {
  const names = db.prepare(
    `SELECT name FROM sqlite_schema
     UNION ALL SELECT 'executions.' || name FROM pragma_table_info('executions')
     UNION ALL SELECT 'inbox.' || name FROM pragma_table_info('inbox')
     UNION ALL SELECT 'seen.' || name FROM pragma_table_info('seen')
     UNION ALL SELECT 'runs.' || name FROM pragma_table_info('runs')`,
  );
  const found = new Set(names.all().map(({ name }) => name));
  return Object.entries(ADDED).flatMap(([name, sql]) => (found.has(name) ? [] : [sql]));
}

/** The records of a run's journal are in one range of this length. */
export const PARTS_OF_A_RUN = 65_536;

/**
 * Added to every opened store that lacks them. An older cairn works with a store that has them. `sum` is the checksum
 * of the other columns; null in an entry that an older cairn wrote.
 */
const ADDED: { readonly [name: string]: string } = {
  tombstones: `CREATE TABLE tombstones (
    run TEXT PRIMARY KEY, expiresAtSec INTEGER NOT NULL, tombstone TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  tombstonesByExpiry: "CREATE INDEX tombstonesByExpiry ON tombstones (expiresAtSec)",
  "executions.died": "ALTER TABLE executions ADD COLUMN died INTEGER",
  "executions.cause": "ALTER TABLE executions ADD COLUMN cause TEXT",
  "executions.sum": "ALTER TABLE executions ADD COLUMN sum TEXT",
  "seen.digest": "ALTER TABLE seen ADD COLUMN digest TEXT",
  "inbox.sum": "ALTER TABLE inbox ADD COLUMN sum TEXT",
  commits: `CREATE TABLE commits (
    one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL
  ) STRICT`,
  records: `CREATE TABLE records (
    kind TEXT NOT NULL, about TEXT NOT NULL, id TEXT NOT NULL, tenant TEXT NOT NULL, at INTEGER NOT NULL,
    version INTEGER NOT NULL, body TEXT NOT NULL, expiresAtSec INTEGER, sum TEXT NOT NULL, PRIMARY KEY (kind, about, id)
  ) STRICT`,
  recordsOfTenant: "CREATE INDEX recordsOfTenant ON records (kind, tenant, at, id)",
  recordsByExpiry: "CREATE INDEX recordsByExpiry ON records (expiresAtSec) WHERE expiresAtSec IS NOT NULL",
  metaTwice: "CREATE INDEX metaTwice ON meta (value, name)",
  inboxTwice: "CREATE INDEX inboxTwice ON inbox (id)",
  seenTwice: "CREATE INDEX seenTwice ON seen (id)",
  tombstonesTwice: "CREATE INDEX tombstonesTwice ON tombstones (tombstone)",
  turnsTwice: "CREATE INDEX turnsTwice ON turns (turn)",
  removedTwice: "CREATE INDEX removedTwice ON removed (removedAt)",
  supervisorTwice: "CREATE INDEX supervisorTwice ON supervisor (pid, startedAt)",
  childrenTwice: "CREATE INDEX childrenTwice ON children (startedAt)",
  "runs.parts": "ALTER TABLE runs ADD COLUMN parts INTEGER",
  parts: "CREATE TABLE parts (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT",
  // Column and text name the same range, so a flipped bit in one of them removes no parts of another run.
  deltas: `CREATE TABLE deltas (
    run TEXT NOT NULL, born TEXT NOT NULL, epoch INTEGER NOT NULL, version INTEGER NOT NULL, seq INTEGER NOT NULL,
    at INTEGER NOT NULL, delta TEXT NOT NULL, sum TEXT NOT NULL, PRIMARY KEY (run, born, epoch, version, seq)
  ) STRICT, WITHOUT ROWID`,
  deltasByTime: "CREATE INDEX deltasByTime ON deltas (at)",
  readers: "CREATE TABLE readers (run TEXT PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID",
  readersByTime: "CREATE INDEX readersByTime ON readers (until)",
  partsOfRemoved: `CREATE TRIGGER partsOfRemoved AFTER DELETE ON runs
    WHEN old.parts = CASE WHEN json_valid(old.row) THEN old.row ->> '$.parts[0]' END
    BEGIN DELETE FROM parts WHERE id >= old.parts AND id < old.parts + ${PARTS_OF_A_RUN}; END`,
};

/**
 * The tables.
 *
 * - `runs`: the row as JSON, its journal, and the columns that queries need. `parts` (added): journals beside their rows.
 * - `executions`: the chain.
 * - `removed`: the incarnations whose row is gone, until what they left behind is gone too.
 * - `tombstones` (added): the keys of ended runs. `commits` (added): how many there ever were.
 * - `records` (added): access tokens, the audit log and rates.
 * - `deltas`, `readers` (added): what models are saying, and until when a reader is attached to a run.
 * - `supervisor`, `children`: the processes that work on this store, so that the next supervisor can kill what is left.
 */
export const SCHEMA = `
PRAGMA page_size = 1024;
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${STORE_FORMAT};
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE runs (
  run TEXT PRIMARY KEY, tenant TEXT NOT NULL, status TEXT NOT NULL, statusSince INTEGER NOT NULL,
  alive INTEGER NOT NULL, expiresAtSec INTEGER, row TEXT NOT NULL, journal BLOB
) STRICT;
CREATE INDEX runsByTime ON runs (tenant, statusSince, run);
CREATE INDEX runsByStatus ON runs (tenant, status, statusSince, run);
CREATE INDEX runsAlive ON runs (statusSince, run) WHERE alive = 1;
CREATE TABLE inbox (
  run TEXT NOT NULL, born TEXT NOT NULL, id TEXT NOT NULL, sentAt INTEGER NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (run, born, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE seen (
  run TEXT NOT NULL, born TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (run, born, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE turns (name TEXT PRIMARY KEY, turn TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE removed (
  run TEXT NOT NULL, born TEXT NOT NULL, removedAt INTEGER NOT NULL, dueAt INTEGER NOT NULL, PRIMARY KEY (run, born)
) STRICT, WITHOUT ROWID;
CREATE INDEX removedByTime ON removed (dueAt);
CREATE INDEX runsByExpiry ON runs (expiresAtSec) WHERE expiresAtSec IS NOT NULL;
CREATE TABLE objects (key TEXT PRIMARY KEY, bytes BLOB NOT NULL, putAt INTEGER NOT NULL) STRICT;
CREATE TABLE executions (
  name TEXT PRIMARY KEY, payload TEXT NOT NULL, state TEXT NOT NULL, stage TEXT NOT NULL, retry INTEGER NOT NULL,
  attempt INTEGER NOT NULL, readyAt INTEGER, seconds INTEGER NOT NULL, token TEXT UNIQUE
) STRICT;
CREATE INDEX executionsReady ON executions (readyAt) WHERE readyAt IS NOT NULL;
CREATE INDEX executionsTrying ON executions (stage) WHERE stage = 'trying';
CREATE TABLE supervisor (
  one INTEGER PRIMARY KEY CHECK (one = 1), pid INTEGER NOT NULL, startedAt TEXT NOT NULL
) STRICT;
CREATE TABLE children (
  pid INTEGER NOT NULL, startedAt TEXT NOT NULL, PRIMARY KEY (pid, startedAt)
) STRICT, WITHOUT ROWID;
${Object.values(ADDED).join(";\n")};
COMMIT;
`;
