/** Tombstones in the embedded store: the keys of ended runs, one for each run. */
import type { DatabaseSync } from "node:sqlite";
import type { RunTable } from "../../../ports/run-table.ts";
import { type Tombstone, isKept, newerTombstone } from "../../../protocol/tombstone.ts";
import { type Store, atomically, reaching } from "./database.ts";
import { parseStored } from "./store-errors.ts";

export interface Tombstones {
  /** The stored tombstone, expired or not; the caller judges that. */
  readonly find: (run: string) => Tombstone | null;
  readonly operations: Pick<RunTable, "keepKey" | "forgetKey" | "readKey">;
}

export function tombstonesOf(store: Store): Tombstones {
  const { rows: db } = store;
  const select = db.prepare("SELECT tombstone FROM tombstones WHERE run = ?");
  const put = db.prepare(
    `INSERT INTO tombstones (run, expiresAtSec, tombstone) VALUES (:run, :expiresAtSec, :tombstone)
     ON CONFLICT DO UPDATE SET expiresAtSec = excluded.expiresAtSec, tombstone = excluded.tombstone`,
  );
  const remove = db.prepare("DELETE FROM tombstones WHERE run = ? AND tombstone ->> '$.born' = ?");
  const find = (run: string): Tombstone | null => {
    const found = select.get(run) as { readonly tombstone: string } | undefined;
    return found === undefined ? null : (parseStored(store.dir, found.tombstone) as Tombstone);
  };
  return {
    find,
    operations: {
      keepKey: async (next) =>
        atomically(store, () => {
          const { run } = next;
          const tombstone = newerTombstone(find(run), next);
          put.run({ run, expiresAtSec: tombstone.expiresAtSec, tombstone: JSON.stringify(tombstone) });
          return { kind: "kept" };
        }),
      forgetKey: async ({ run, born }) => {
        reaching(store, () => remove.run(run, born));
        return { kind: "forgotten" };
      },
      readKey: async (run, now) => {
        const found = reaching(store, () => find(run));
        return found === null || !isKept(found, now) ? null : found;
      },
    },
  };
}

/** Removes expired tombstones, at most `limit`, and returns how many. */
export function tombstoneRemover(db: DatabaseSync): (nowSec: number, limit: number) => number {
  const remove = db.prepare(
    "DELETE FROM tombstones WHERE run IN (SELECT run FROM tombstones WHERE expiresAtSec <= ? ORDER BY expiresAtSec LIMIT ?)",
  );
  return (nowSec, limit) => Number(remove.run(nowSec, limit).changes);
}
