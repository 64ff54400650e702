/**
 * Removed rows, told as a stream tells them: the entry of an incarnation is written in the transaction that deletes its
 * row, and stays until everything that the incarnation leaves behind is gone. Killed at any moment, nobody forgets one.
 */
import type { DatabaseSync } from "node:sqlite";
import { ARCHIVES } from "../../core/policy/retention.ts";
import type { Incarnation } from "../../protocol/row.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { tombstoneRemover } from "./tombstones.ts";

/** Deletes a row inside of the caller's transaction, which has found that it is the row of that incarnation. */
export function rowRemover(db: DatabaseSync): (of: Incarnation, now: number) => void {
  const remove = db.prepare("DELETE FROM runs WHERE run = ?");
  const tell = db.prepare("INSERT OR REPLACE INTO removed (run, born, removedAt, dueAt) VALUES (?, ?, ?, 0)");
  return ({ run, born }, now) => {
    remove.run(run);
    tell.run(run, born, now);
  };
}

export interface Removals {
  /** Removes rows and tombstones whose time is over, `limit` of each at most; true if there may be more. */
  expire(now: number, limit: number): boolean;
  /** Removes archives whose days are over: what the lifecycle of a bucket does. Nothing is told of it. */
  expireArchives(now: number): void;
  /** The incarnation that has been due for longest, or null. */
  firstDue(now: number): Incarnation | null;
  /** It could not be cleaned up: not again before that. */
  postpone(of: Incarnation, until: number): void;
  /**
   * Everything else of it is gone: deletes the entry and its executions. One that is not over has no run to drive any
   * more, and an answer of its attempt finds nothing to move.
   */
  finish(of: Incarnation): void;
}

const DAY_MS = 24 * 3_600_000;
const ARCHIVES_AT_ONCE = 20;

export function removalsOf(store: Store): Removals {
  const { rows: db } = store;
  const remove = rowRemover(db);
  const removeTombstones = tombstoneRemover(db);
  // A row that does not say which incarnation it is stays: the clean-up after it could not be told what to remove.
  const expired = db.prepare(
    `SELECT run, born FROM (
       SELECT run, expiresAtSec, CASE WHEN json_valid(row) THEN row ->> '$.born' END AS born FROM runs
       WHERE expiresAtSec <= ?
     ) WHERE typeof(born) = 'text' ORDER BY expiresAtSec LIMIT ?`,
  );
  const firstDue = db.prepare("SELECT run, born FROM removed WHERE dueAt <= ? ORDER BY dueAt, removedAt LIMIT 1");
  const postpone = db.prepare("UPDATE removed SET dueAt = ? WHERE run = ? AND born = ?");
  const endExecutions = db.prepare("DELETE FROM executions WHERE name > ? AND name < ?");
  const finish = db.prepare("DELETE FROM removed WHERE run = ? AND born = ?");
  const expireSome = db.prepare(
    `DELETE FROM objects WHERE key IN (SELECT key FROM objects WHERE key > ? AND key < ? AND putAt <= ? LIMIT ?)`,
  );
  return {
    expireArchives: (now) => {
      for (const { prefix, days } of Object.values(ARCHIVES)) {
        // `~` follows every character that a key of ours has. A few at a time: others want to write as well.
        const remove = () => expireSome.run(prefix, `${prefix}~`, now - days * DAY_MS, ARCHIVES_AT_ONCE);
        while (reaching(store, remove).changes === ARCHIVES_AT_ONCE);
      }
    },
    expire: (now, limit) => {
      const nowSec = Math.floor(now / 1_000);
      const areMore = reaching(store, () => removeTombstones(nowSec, limit)) === limit;
      const select = () => expired.all(nowSec, limit) as unknown as readonly Incarnation[];
      if (reaching(store, select).length === 0) return areMore;
      return atomically(store, () => {
        const found = select();
        for (const of of found) remove(of, now);
        return areMore || found.length === limit;
      });
    },
    firstDue: (now) => {
      const found = reaching(store, () => firstDue.get(now)) as Incarnation | undefined;
      return found === undefined ? null : { ...found };
    },
    postpone: ({ run, born }, until) => void reaching(store, () => postpone.run(until, run, born)),
    finish: ({ run, born }) =>
      atomically(store, () => {
        // `.` follows `-`: everything that begins with the name of the incarnation lies between.
        endExecutions.run(`${run}-${born}-`, `${run}-${born}.`);
        finish.run(run, born);
      }),
  };
}
