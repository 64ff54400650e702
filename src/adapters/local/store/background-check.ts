/**
 * Checks the file of a large store while its supervisor works: one table with its indexes after the other, in a thread with a
 * connection of its own. The store keeps which tables are done, so the next supervisor goes on behind them. A whole check
 * is made once a day, however long its supervisor lives.
 */
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "../../../ports/world.ts";
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
/** The pause behind a check that could not be made, or whose outcome could not be stored. */
const RETRY_MS = 3_600_000;

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

/** Checks the file now, if that is due, and from then on daily. Returns how to stop it. `onDamaged` is called once at most. */
export function checkInBackground(
  store: Store,
  { clock, onDamaged }: { readonly clock: CheckClock; readonly onDamaged: (damage: StoreDamaged) => void },
): () => void {
  const plan = planOf(store);
  let isStopped = false;
  let stopPart = (): void => {};
  const stop = (): void => {
    isStopped = true;
    stopPart();
  };
  const later = (ms: number): void => {
    stopPart();
    if (!isStopped) stopPart = clock.after(Math.min(ms, CHECK_EVERY_MS), check);
  };
  const check = (): void => {
    try {
      const { at, done } = plan.read();
      const restMs = at + CHECK_EVERY_MS - clock.now();
      if (restMs > 0) later(restMs);
      // It may have grown by tomorrow.
      else if (!isLarge(store.rows)) later(CHECK_EVERY_MS);
      else begin(at, done);
    } catch {
      later(RETRY_MS);
    }
  };
  const begin = (at: number, done: readonly string[]): void => {
    const found: string[] = [...done];
    const heard = ({ table, fault }: Found): void => {
      if (fault !== null) {
        stop();
        onDamaged(new StoreDamaged(store.dir, fault));
      } else if (table === null) {
        plan.write({ at: clock.now(), done: [] });
        later(CHECK_EVERY_MS);
      } else {
        found.push(table);
        plan.write({ at, done: found });
      }
    };
    stopPart = checkTables({ file: join(store.dir, "cairn.sqlite"), done, heard, onFailed: () => later(RETRY_MS) });
  };
  check();
  return stop;
}

type CheckClock = Pick<Clock, "now" | "after">;

/** Starts the thread. Returns how to end it; what it says after that is not heard. */
function checkTables(part: {
  readonly file: string;
  readonly done: readonly string[];
  readonly heard: (found: Found) => void;
  /** It ended by an error, or what it found could not be stored: what is not stored is checked again. */
  readonly onFailed: () => void;
}): () => void {
  const thread = new Worker(IN_THREAD, { eval: true, workerData: { file: part.file, done: part.done } });
  thread.unref();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    void thread.terminate();
  };
  thread.on("message", (message: Found) => {
    if (isOver) return;
    try {
      part.heard(message);
    } catch {
      part.onFailed();
    }
  });
  thread.on("error", () => {
    if (!isOver) part.onFailed();
  });
  return end;
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
