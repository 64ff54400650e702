/**
 * The warehouse: a database with stock, reservations and a queue of parcels, all in one SQLite file. Put your own
 * database in its place. `dispatcher.ts` is another process, which takes the parcels from the queue.
 */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface Order {
  readonly customer: string;
  readonly item: string;
  readonly pieces: number;
  readonly euros: number;
}

const ORDERS: Readonly<Record<string, Order>> = {
  "A-1": { customer: "ada@example.org", item: "cup", pieces: 2, euros: 24 },
  "A-2": { customer: "ben@example.org", item: "lamp", pieces: 1, euros: 120 },
  "A-3": { customer: "cyd@example.org", item: "piano", pieces: 1, euros: 900 },
};

const SCHEMA = `
  PRAGMA busy_timeout = 5000;
  CREATE TABLE IF NOT EXISTS stock (item TEXT PRIMARY KEY, pieces INTEGER NOT NULL);
  INSERT OR IGNORE INTO stock VALUES ('cup', 1000), ('lamp', 1000), ('piano', 0);
  CREATE TABLE IF NOT EXISTS reservations
    (key TEXT PRIMARY KEY, "order" TEXT NOT NULL, item TEXT NOT NULL, pieces INTEGER NOT NULL, released INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS parcels
    (key TEXT NOT NULL, "order" TEXT NOT NULL, "to" TEXT NOT NULL, sent TEXT);
  CREATE TABLE IF NOT EXISTS payments (id INTEGER PRIMARY KEY, "order" TEXT NOT NULL, euros REAL NOT NULL);
`;

export const fileOf = (dir: string): string => `${dir}/warehouse.sqlite`;

/** Opens the database, works with it, and closes it again. */
export function withWarehouse<Result>(
  work: (database: DatabaseSync) => Result,
  file = fileOf(process.env["WAREHOUSE"] ?? ".warehouse"),
): Result {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file);
  try {
    database.exec(SCHEMA);
    return work(database);
  } finally {
    database.close();
  }
}

/** `A-2-17` is another order of what `A-2` orders: for trying many. */
export function readOrder(order: string): Order {
  const found = ORDERS[order.split("-").slice(0, 2).join("-")];
  if (found === undefined) throw new Error(`there is no order ${order}`);
  return found;
}

/** Keyed: the key is the primary key of the reservation, so a repeated request reserves nothing more. */
export function reserve(order: string, key: string): { item: string; pieces: number } {
  const { item, pieces } = readOrder(order);
  return withWarehouse((database) => {
    database.exec("BEGIN IMMEDIATE");
    const made = database
      .prepare(`INSERT OR IGNORE INTO reservations VALUES (?, ?, ?, ?, 0)`)
      .run(key, order, item, pieces);
    const left = database.prepare("SELECT pieces FROM stock WHERE item = ?").get(item)?.["pieces"];
    if (made.changes === 1 && Number(left) < pieces) {
      database.exec("ROLLBACK");
      throw new Error(`there are ${String(left)} of ${item} in stock`);
    }
    if (made.changes === 1) database.prepare("UPDATE stock SET pieces = pieces - ? WHERE item = ?").run(pieces, item);
    database.exec("COMMIT");
    return { item, pieces };
  });
}

/** Takes a reservation back. It does nothing if there is none, or if it was taken back before. */
export function release(key: string): { released: boolean } {
  return withWarehouse((database) => {
    database.exec("BEGIN IMMEDIATE");
    const row = database.prepare("SELECT item, pieces FROM reservations WHERE key = ? AND released = 0").get(key);
    if (row !== undefined) {
      database.prepare("UPDATE reservations SET released = 1 WHERE key = ?").run(key);
      database
        .prepare("UPDATE stock SET pieces = pieces + ? WHERE item = ?")
        .run(Number(row["pieces"]), String(row["item"]));
    }
    database.exec("COMMIT");
    return { released: row !== undefined };
  });
}

/** Unsafe: the till knows no keys. Each request takes money. */
export function takePayment(order: string): { payment: number } {
  const { euros } = readOrder(order);
  return withWarehouse((database) => {
    const { lastInsertRowid } = database
      .prepare(`INSERT INTO payments ("order", euros) VALUES (?, ?)`)
      .run(order, euros);
    return { payment: Number(lastInsertRowid) };
  });
}

/** Probed: the queue takes every message, also the same one twice. But it can be searched for the key. */
export function enqueueParcel(order: string, key: string): { queued: string } {
  const { customer } = readOrder(order);
  withWarehouse((database) => database.prepare(`INSERT INTO parcels VALUES (?, ?, ?, NULL)`).run(key, order, customer));
  return { queued: customer };
}

export const isQueued = (key: string): boolean =>
  withWarehouse((database) => database.prepare("SELECT 1 FROM parcels WHERE key = ?").get(key) !== undefined);
