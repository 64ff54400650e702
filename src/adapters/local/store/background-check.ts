/**
 * Checks the file of a large store while its supervisor works: one table with its indexes after the other, in a thread with a
 * connection of its own. The store keeps which tables are done, so the next supervisor goes on behind them. A whole check
 * is made once a day.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { type Store, reaching } from "./database.ts";
import { isLarge } from "./integrity.ts";
import { StoreDamaged } from "./store-errors.ts";

/** How far the check is. Times are epoch milliseconds. */
interface CheckPlan {
  /** When the last check of all tables ended; 0: none has. */
  readonly at: number;
  /** The tables that the check since then has found undamaged. */
  readonly done: readonly string[];
}

const CHECK_EVERY_MS = 24 * 3_600_000;

/** When all tables were last found undamaged in the background, epoch milliseconds; 0: never. */
export const checkedAt = (store: Store): number => planOf(store).read().at;

function planOf(store: Store) {
  const select = store.rows.prepare("SELECT value FROM meta WHERE name = 'checked'");
  const insert = store.rows.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES ('checked', ?)");
  return {
    read: (): CheckPlan => {
      const found = reaching(store, () => select.get());
      return found === undefined ? { at: 0, done: [] } : (JSON.parse(String(found["value"])) as CheckPlan);
    },
    write: (plan: CheckPlan): void => void reaching(store, () => insert.run(JSON.stringify(plan)), "later"),
  };
}

/**
 * Begins the check, if it is due. Returns how to stop it. `onDamaged` is called once at most; a check that fails otherwise is
 * begun anew by the next supervisor.
 */
export function checkInBackground(
  store: Store,
  { now, onDamaged }: { readonly now: () => number; readonly onDamaged: (damage: StoreDamaged) => void },
): () => void {
  const plan = planOf(store);
  const { at, done } = plan.read();
  if (!isLarge(store.rows) || now() - at < CHECK_EVERY_MS) return () => undefined;
  const thread = new Worker(IN_THREAD, { eval: true, workerData: { file: join(store.dir, "cairn.sqlite"), done } });
  thread.unref();
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    void thread.terminate();
  };
  const found: string[] = [...done];
  const heard = ({ table, fault }: Found): void => {
    if (fault !== null) {
      stop();
      onDamaged(new StoreDamaged(store.dir, fault));
    } else if (table === null) plan.write({ at: now(), done: [] });
    else {
      found.push(table);
      plan.write({ at, done: found });
    }
  };
  thread.on("message", (message: Found) => {
    try {
      if (!isOver) heard(message);
    } catch {
      // What cannot be stored now is checked again.
      stop();
    }
  });
  thread.on("error", stop);
  return stop;
}

/** What the thread says of one table; without a table: all are done. */
interface Found {
  readonly table: string | null;
  readonly fault: string | null;
}

/** It reads alone. Text, so that no package and no bundle needs a further module. */
const IN_THREAD = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const db = new DatabaseSync(workerData.file, { readOnly: true, timeout: 5000 });
const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
for (const { name } of tables) {
  if (workerData.done.includes(name)) continue;
  let line;
  try {
    const [row] = db.prepare('PRAGMA integrity_check("' + name + '")').all();
    line = String(Object.values(row)[0]);
  } catch (error) {
    // SQLITE_CORRUPT and SQLITE_NOTADB: a page that cannot be read at all ends the check itself.
    if (![11, 26].includes(error.errcode & 255)) throw error;
    line = error.message;
  }
  parentPort.postMessage({ table: name, fault: line === "ok" ? null : line });
}
parentPort.postMessage({ table: null, fault: null });
`;
