/**
 * Reads everything about an embedded store that `cairn doctor` judges, as values. It begins a write to see that writes
 * work, then rolls it back.
 */
import { statfsSync } from "node:fs";
import { RowUnreadable } from "../../codec/row.ts";
import { MEMORY_ENTRIES_MAX } from "../../ports/memory.ts";
import type { Damaged } from "../../ports/run-table.ts";
import { StoreUnreachable } from "../../ports/world.ts";
import type { ClockDoubt } from "../../protocol/steadiness.ts";
import { storeClock } from "./clock.ts";
import { type Store, failureOf, reaching, rollBack } from "./store/database.ts";
import { journalPartsIn } from "./store/journal-parts.ts";
import { type Stored, rowInText } from "./store/row-text.ts";
import { checkedAt } from "./store/background-check.ts";
import { faultsIn, isLarge } from "./store/integrity.ts";
import { StoreDamaged } from "./store/store-errors.ts";

/** Everything that was seen of an embedded store. */
export interface StoreSeen {
  readonly dir: string;
  readonly id: string;
  readonly journalMode: string;
  /** Why the store refuses writes; null: it takes them. */
  readonly refuses: string | null;
  /** Faults that SQLite found in the file; empty: it is intact. */
  readonly faults: readonly string[];
  /** The whole file was checked now, and every row decoded. Otherwise only the rows of runs that have not ended were. */
  readonly isWhole: boolean;
  /** When a supervisor last checked the whole file in the background, epoch milliseconds; 0: never. */
  readonly checkedAt: number;
  /** Runs whose row cannot be decoded; null: the file is too damaged to be searched. */
  readonly damaged: readonly Damaged[] | null;
  readonly freeBytes: number;
  readonly runs: { readonly live: number; readonly overdue: number };
  /** Memories that are full, or nearly so: the fullest first. */
  readonly memories: readonly { readonly tenant: string; readonly scope: string; readonly entries: number }[];
  /** The latest timestamp in the store, epoch milliseconds; 0 if it is empty. */
  readonly latestAt: number;
  /** Why cairn does not trust the wall clock, or null. */
  readonly clock: ClockDoubt | null;
}

/**
 * Inspects an open store. `overdueBefore`: a run that was ready before this time and has not been driven is overdue. Of a
 * large store it reads what is indexed, unless `whole` is asked for.
 */
export function inspectStore(
  store: Store,
  { whole, overdueBefore }: { readonly overdueBefore: number; readonly whole?: boolean },
): StoreSeen {
  const { dir, id } = store;
  const isWhole = whole === true || !isLarge(store.rows, WHOLE_BYTES);
  return {
    dir,
    id,
    journalMode: String(one(store, "PRAGMA journal_mode")),
    refuses: refusalOf(store),
    faults: [...(isWhole ? faultsOf(store) : []), ...lossOf(store)],
    isWhole,
    checkedAt: checkedAt(store),
    damaged: damagedIn(store, isWhole ? "" : "WHERE alive = 1"),
    freeBytes: freeBytes(dir),
    runs: {
      live: Number(one(store, "SELECT COUNT(*) FROM runs WHERE alive = 1")),
      overdue: Number(one(store, "SELECT COUNT(*) FROM executions WHERE readyAt < ?", overdueBefore)),
    },
    memories: fullMemories(store),
    latestAt: Number(one(store, isWhole ? LATEST : LATEST_OF_LIVE)),
    clock: storeClock(store).doubt(),
  };
}

/** Up to this size all of a store is read within a second or two. */
const WHOLE_BYTES = 128 * 1024 ** 2;

function freeBytes(dir: string): number {
  const { bavail, bsize } = statfsSync(dir);
  return bavail * bsize;
}

const LATEST = `SELECT MAX(at) FROM (
  SELECT MAX(statusSince) AS at FROM runs UNION ALL SELECT MAX(putAt) FROM objects UNION ALL SELECT 0
)`;

const LATEST_OF_LIVE = "SELECT coalesce(MAX(statusSince), 0) FROM runs WHERE alive = 1";

/** A memory with fewer entries has room for the runs of some time. */
export const NEARLY_FULL = 0.9 * MEMORY_ENTRIES_MAX;
const MEMORIES_MAX = 20;

const FULL = `SELECT about, COUNT(*) AS entries FROM records
  WHERE kind = 'memoryEntry' AND body <> 'null' AND (expiresAtSec IS NULL OR expiresAtSec > unixepoch())
  GROUP BY about HAVING entries >= ? ORDER BY entries DESC, about LIMIT ?`;

function fullMemories(store: Store): StoreSeen["memories"] {
  const found = reaching(store, () => store.rows.prepare(FULL).all(NEARLY_FULL, MEMORIES_MAX));
  return found.map(({ about, entries }) => {
    const [tenant = "", scope = ""] = String(about).split("/");
    return { tenant, scope, entries: Number(entries) };
  });
}

/** The value of a query that returns one row with one column. */
function one(store: Store, sql: string, ...values: readonly number[]): unknown {
  const row = reaching(store, () => store.rows.prepare(sql).get(...values));
  return Object.values(row ?? {})[0];
}

function refusalOf({ rows, dir }: Store): string | null {
  try {
    rows.exec("BEGIN IMMEDIATE");
    // Beginning a transaction is not enough: SQLite reports a read-only file only at the first write.
    rows.exec("UPDATE meta SET value = value");
    return null;
  } catch (error) {
    const told = failureOf(error, { rows, dir });
    if (!(told instanceof StoreUnreachable || told instanceof StoreDamaged)) throw told;
    return told.message;
  } finally {
    rollBack(rows);
  }
}

/** The file can be so damaged that the check itself fails. */
function faultsOf(store: Store): readonly string[] {
  try {
    return reaching(store, () => faultsIn(store.rows, 5));
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    return [error.message];
  }
}

const lossOf = ({ place: { lacks } }: Store): readonly string[] =>
  lacks === 0 ? [] : [`it lacks the last ${lacks} commits that were acknowledged`];

/**
 * The damaged rows among those. Of all rows they include those that no list shows: an expired row stays in the store while
 * it cannot be decoded.
 */
function damagedIn(store: Store, where: string): readonly Damaged[] | null {
  const search = (): readonly Damaged[] => {
    const parts = journalPartsIn(store.rows);
    // While it is iterated, all reads are of one moment.
    const rows = store.rows.prepare(`SELECT run, row, journal, parts FROM runs ${where}`).iterate();
    const found: Damaged[] = [];
    for (const row of rows as Iterable<unknown> as Iterable<Stored & { readonly run: string }>) {
      const decoded = rowInText(row, row.run, parts.read);
      if (decoded instanceof RowUnreadable) found.push({ run: decoded.run, why: decoded.why });
    }
    return found;
  };
  try {
    return reaching(store, search);
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
    return null;
  }
}
