/** Records in the embedded store, each with a checksum of its own. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { undamagedRecord } from "../../../codec/record.ts";
import type { Json } from "../../../core/json.ts";
import type { Durable } from "../../../core/policy/durability.ts";
import {
  type AddOutcome,
  type FoundRecord,
  type NewRecord,
  type RecordKey,
  type Records,
  type ReplaceOutcome,
  type StoredRecord,
  damagedRecord,
  isDamagedRecord,
  isRecordExpired,
  partedRecords,
} from "../../../ports/records.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { sumOf } from "./integrity.ts";

interface Kept extends Omit<StoredRecord, "body"> {
  readonly body: string;
  readonly sum: string;
}

const COLUMNS = "kind, about, id, tenant, at, version, body, expiresAtSec, sum";

export function sqliteRecords(store: Store): Records {
  const { rows: db } = store;
  const select = db.prepare(`SELECT ${COLUMNS} FROM records WHERE kind = ? AND about = ? AND id = ?`);
  const put = db.prepare(
    `INSERT OR REPLACE INTO records (${COLUMNS})
     VALUES (:kind, :about, :id, :tenant, :at, :version, :body, :expiresAtSec, :sum)`,
  );
  const page = (where: string, place: string, order: string): StatementSync =>
    db.prepare(
      `SELECT ${COLUMNS} FROM records WHERE kind = :kind AND ${where} AND ${place}
       AND (expiresAtSec IS NULL OR expiresAtSec * 1000 > :now) ORDER BY ${order} LIMIT :limit`,
    );
  const ofTenant = page("tenant = :by", "(at, id) < (:at, :id)", "at DESC, id DESC");
  const about = page("about = :by", "id < :id AND :at >= 0", "id DESC");
  const look = ({ kind, about: subject, id }: RecordKey, now: number): FoundRecord | null => {
    const found = select.get(kind, subject, id) as Kept | undefined;
    return found === undefined || isRecordExpired(found, now) ? null : recordOf(found);
  };
  const find = (key: RecordKey, now: number): StoredRecord | null => undamagedRecord(look(key, now));
  const keep = (record: StoredRecord): void => {
    const columns = { ...record, body: JSON.stringify(record.body) };
    put.run({ ...columns, sum: sumOf(columns) });
  };
  return {
    add: async (record, now) => {
      const access = (): AddOutcome => {
        const found = find(record, now);
        if (found !== null) return { kind: "exists", record: found };
        keep({ ...fieldsOf(record), version: 1 });
        return { kind: "added" };
      };
      return atomically(store, access, durableOf(record));
    },
    replace: async (record, now) => {
      const access = (): ReplaceOutcome => {
        const found = find(record, now);
        if (found?.version !== record.version) return { kind: "changed" };
        const { body, expiresAtSec } = record;
        keep({ ...found, body, expiresAtSec, version: found.version + 1 });
        return { kind: "replaced" };
      };
      return atomically(store, access, durableOf(record));
    },
    overwriteDamaged: async (record, now) => {
      const access = (): ReplaceOutcome => {
        const found = look(record, now);
        if (found === null || !isDamagedRecord(found)) return { kind: "changed" };
        keep({ ...fieldsOf(record), version: 1 });
        return { kind: "replaced" };
      };
      return atomically(store, access, durableOf(record));
    },
    get: async (key, now) => reaching(store, () => find(key, now)),
    list: async ({ kind, by, after, limit, now }) => {
      const behind = after === null ? LAST : placeIn(after);
      const [statement, subject] = "tenant" in by ? [ofTenant, by.tenant] : [about, by.about];
      // One record more than the limit shows whether another page follows.
      const found = reaching(store, () => statement.all({ kind, by: subject, ...behind, now, limit: limit + 1 }));
      const rows = (found as unknown as readonly Kept[]).slice(0, limit);
      const last = rows.at(-1);
      const isMore = found.length > limit && last !== undefined;
      const next = isMore ? cursorOf("tenant" in by ? last.at : 0, last.id) : null;
      return { ...partedRecords(rows.map(recordOf)), next };
    },
  };
}

/**
 * The log of the store is durable as a prefix. So the record of a change is durable before or with that change, without
 * a wait of its own. A token and the link of a callback leave the machine when they are made, and a source that was
 * fetched is not fetched again.
 */
const durableOf = ({ kind }: RecordKey): Durable => (AT_ONCE.has(kind) ? "now" : "later");
const AT_ONCE: ReadonlySet<RecordKey["kind"]> = new Set(["token", "callback", "source"]);

const fieldsOf = ({ kind, about, id, tenant, at, body, expiresAtSec }: NewRecord) => ({
  kind,
  about,
  id,
  tenant,
  at,
  body,
  expiresAtSec,
});

function recordOf({ sum, ...kept }: Kept): FoundRecord {
  const columns = { ...kept };
  if (sum !== sumOf(columns)) return damagedRecord(kept, "it has other content than its checksum says");
  return { ...columns, body: JSON.parse(kept.body) as Json };
}

/** The place before all records of a list. Text above every ID, and a time above every time. */
const LAST = { at: Number.MAX_SAFE_INTEGER, id: "\u{10FFFF}" };
const NOWHERE = { at: -1, id: "" };

const cursorOf = (at: number, id: string): string => Buffer.from(JSON.stringify([at, id])).toString("base64url");

function placeIn(cursor: string): { readonly at: number; readonly id: string } {
  try {
    const [at, id] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as readonly unknown[];
    return Number.isSafeInteger(at) && typeof id === "string" ? { at: at as number, id } : NOWHERE;
  } catch {
    return NOWHERE;
  }
}

/** Removes expired records, at most `limit`, and returns how many. */
export function recordRemover(db: DatabaseSync): (nowSec: number, limit: number) => number {
  const remove = db.prepare(
    `DELETE FROM records WHERE rowid IN
     (SELECT rowid FROM records WHERE expiresAtSec <= ? ORDER BY expiresAtSec LIMIT ?)`,
  );
  return (nowSec, limit) => Number(remove.run(nowSec, limit).changes);
}
