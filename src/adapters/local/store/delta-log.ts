/**
 * The delta log in the embedded store, each delta with a checksum of its own. It keeps the deltas of one step of a run.
 * No write waits for the disk, since nothing depends on a delta. A damaged delta is skipped.
 */
import type { DatabaseSync } from "node:sqlite";
import { DELTAS, type Delta, type DeltaLog, PACE_OF_FILE } from "../../../ports/delta-log.ts";
import type { Incarnation } from "../../../protocol/row.ts";
import { type Store, atomically, glancing, reaching } from "./database.ts";
import { sumOf } from "./integrity.ts";

interface Kept {
  readonly delta: string;
  readonly sum: string;
}

export function sqliteDeltaLog(store: Store): DeltaLog {
  const { rows: db } = store;
  const attach = db.prepare(
    `INSERT INTO readers (run, until) VALUES (?, ?)
     ON CONFLICT DO UPDATE SET until = excluded.until WHERE excluded.until > readers.until`,
  );
  const attachedUntil = db.prepare("SELECT until FROM readers WHERE run = ? AND until > ?");
  const removeEarlier = db.prepare("DELETE FROM deltas WHERE run = ? AND born = ? AND (epoch, version) < (?, ?)");
  const put = db.prepare(
    `INSERT OR IGNORE INTO deltas (run, born, epoch, version, seq, at, delta, sum)
     VALUES (:run, :born, :epoch, :version, :seq, :at, :delta, :sum)`,
  );
  const isBehindStored = db.prepare(
    "SELECT 1 FROM deltas WHERE run = ? AND born = ? AND (epoch, version) > (?, ?) LIMIT 1",
  );
  const select = db.prepare(
    `SELECT delta, sum FROM deltas WHERE run = ? AND born = ? AND (epoch, version, seq) > (?, ?, ?) AND at > ?
     ORDER BY epoch, version, seq LIMIT ?`,
  );
  const removeAll = db.prepare("DELETE FROM deltas WHERE run = ? AND born = ?");
  const detach = db.prepare("DELETE FROM readers WHERE run = ?");
  return {
    pace: PACE_OF_FILE,
    attach: async ({ run, until }) => void reaching(store, () => attach.run(run, until), "later"),
    attachedUntil: async ({ run, now }) => {
      const found = glancing(store, () => attachedUntil.get(run, now)) as { readonly until: number } | undefined;
      return found?.until ?? null;
    },
    append: async ({ run, born }, delta) => {
      const { epoch, version, seq, at } = delta;
      const text = JSON.stringify(delta);
      const row = { run, born, epoch, version, seq, at, delta: text, sum: sumOf({ run, born, delta: text }) };
      const access = (): void => {
        if (isBehindStored.get(run, born, epoch, version) !== undefined) return;
        removeEarlier.run(run, born, epoch, version);
        put.run(row);
      };
      atomically(store, access, "later");
    },
    read: async ({ run, born, after, limit, now }) => {
      const { epoch, version, seq } = after;
      const from = now - DELTAS.keptMs;
      const found = reaching(store, () => select.all(run, born, epoch, version, seq, from, limit));
      return (found as unknown as readonly Kept[]).flatMap((kept) => deltaIn({ run, born }, kept));
    },
    forget: async ({ run, born }) =>
      atomically(
        store,
        () => {
          removeAll.run(run, born);
          detach.run(run);
        },
        "later",
      ),
  };
}

const deltaIn = ({ run, born }: Incarnation, { delta, sum }: Kept): readonly Delta[] =>
  sum === sumOf({ run, born, delta }) ? [JSON.parse(delta) as Delta] : [];

/** Removes expired deltas and markers, at most `limit` of each, and returns how many deltas. */
export function deltaRemover(db: DatabaseSync): (now: number, limit: number) => number {
  const removeDeltas = db.prepare(
    `DELETE FROM deltas WHERE (run, born, epoch, version, seq) IN
     (SELECT run, born, epoch, version, seq FROM deltas WHERE at <= ? ORDER BY at LIMIT ?)`,
  );
  const removeReaders = db.prepare(
    "DELETE FROM readers WHERE run IN (SELECT run FROM readers WHERE until <= ? ORDER BY until LIMIT ?)",
  );
  return (now, limit) => {
    removeReaders.run(now, limit);
    return Number(removeDeltas.run(now - DELTAS.keptMs, limit).changes);
  };
}
