/**
 * Removed rows, reported as a stream reports them. The transaction that deletes a row writes an entry for its
 * incarnation. The entry stays until everything that the incarnation left behind is gone, so a crash loses no clean-up.
 */
import type { DatabaseSync } from "node:sqlite";
import { ARCHIVES } from "../../../core/policy/retention.ts";
import type { Incarnation } from "../../../protocol/row.ts";
import type { Removals } from "../../../ports/driven-store.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { deltaRemover } from "./delta-log.ts";
import { recordRemover } from "./records.ts";
import { tombstoneRemover } from "./tombstones.ts";

/** Deletes a row inside the caller's transaction, which has checked that it is the row of that incarnation. */
export function rowRemover(db: DatabaseSync): (incarnation: Incarnation, now: number) => void {
  const remove = db.prepare("DELETE FROM runs WHERE run = ?");
  const tell = db.prepare("INSERT OR REPLACE INTO removed (run, born, removedAt, dueAt) VALUES (?, ?, ?, 0)");
  return ({ run, born }, now) => {
    remove.run(run);
    tell.run(run, born, now);
  };
}

const DAY_MS = 24 * 3_600_000;
const ARCHIVES_AT_ONCE = 20;

export function removalsOf(store: Store): Removals {
  const { rows: db } = store;
  const remove = rowRemover(db);
  const removeTombstones = tombstoneRemover(db);
  const removeRecords = recordRemover(db);
  const removeDeltas = deltaRemover(db);
  // A row that does not name its incarnation stays, since the clean-up would not know what to remove.
  const expired = db.prepare(
    `SELECT run, born FROM (
       SELECT run, expiresAtSec, CASE WHEN json_valid(row) THEN row ->> '$.born' END AS born FROM runs
       WHERE expiresAtSec <= ?
     ) WHERE typeof(born) = 'text' ORDER BY expiresAtSec LIMIT ?`,
  );
  const dueFirst = db.prepare("SELECT run, born FROM removed WHERE dueAt <= ? ORDER BY dueAt, removedAt LIMIT ?");
  const postpone = db.prepare("UPDATE removed SET dueAt = ? WHERE run = ? AND born = ?");
  const endExecutions = db.prepare("DELETE FROM executions WHERE name > ? AND name < ?");
  const finish = db.prepare("DELETE FROM removed WHERE run = ? AND born = ?");
  const expireSome = db.prepare(
    `DELETE FROM objects WHERE key IN (SELECT key FROM objects WHERE key > ? AND key < ? AND putAt <= ? LIMIT ?)`,
  );
  return {
    expireArchives: (now) => {
      for (const { prefix, days } of Object.values(ARCHIVES)) {
        // `~` sorts after every character of cairn's keys. A few at a time, so that other processes can write in
        // between.
        const remove = () => expireSome.run(prefix, `${prefix}~`, now - days * DAY_MS, ARCHIVES_AT_ONCE);
        while (reaching(store, remove).changes === ARCHIVES_AT_ONCE);
      }
    },
    expire: (now, limit) => {
      const nowSec = Math.floor(now / 1_000);
      const removed = [removeTombstones, removeRecords].map((each) => reaching(store, () => each(nowSec, limit)));
      const areMore = [...removed, reaching(store, () => removeDeltas(now, limit))].includes(limit);
      const select = () => expired.all(nowSec, limit) as unknown as readonly Incarnation[];
      if (reaching(store, select).length === 0) return areMore;
      return atomically(store, () => {
        const found = select();
        for (const of of found) remove(of, now);
        return areMore || found.length === limit;
      });
    },
    due: (now, limit) => {
      const found = reaching(store, () => dueFirst.all(now, limit)) as unknown as readonly Incarnation[];
      return found.map(({ run, born }) => ({ run, born }));
    },
    postpone: ({ run, born }, until) => void reaching(store, () => postpone.run(until, run, born)),
    finish: (removed) => {
      const access = (): void => {
        for (const { run, born } of removed) {
          // `.` sorts right after `-`, so all names with the incarnation's prefix are in between.
          endExecutions.run(`${run}-${born}-`, `${run}-${born}.`);
          finish.run(run, born);
        }
      };
      // If a power loss takes it back, the entries are back too, and the clean-ups are repeated.
      atomically(store, access, "later");
    },
  };
}
