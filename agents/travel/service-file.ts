/**
 * The storage of the example's services: one SQLite file per service. It outlives the agent's process, and several
 * processes may use it at once. The files keep SQLite's rollback journal. With WAL, two processes that create one file
 * at the same time collide on the switch to WAL, which does not wait ("database is locked").
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type Service = "search" | "airline" | "hotel" | "card" | "mail" | "model";

/** The columns of a booking besides key and reference. `search` and `model` only count requests. */
const ORDERS: Readonly<Record<Service, string>> = {
  search: "",
  airline: ", flight TEXT, route TEXT, date TEXT, hours INTEGER, priceUsd INTEGER, traveller TEXT",
  hotel: ", hotel TEXT, checkIn TEXT, nights INTEGER, stars INTEGER, priceUsd INTEGER, traveller TEXT",
  card: ", amountUsd INTEGER, flight TEXT, hotel TEXT, traveller TEXT",
  mail: ", flight TEXT, hotel TEXT, charge TEXT, traveller TEXT",
  model: "",
};

/** The default directory of the files. */
const servicesDir = (): string => process.env.TRAVEL_SERVICES ?? join(process.env.CAIRN_STORE ?? ".cairn", "services");

export function openFile(service: Service, dir = servicesDir()): DatabaseSync {
  mkdirSync(dir, { recursive: true });
  const file = new DatabaseSync(join(dir, `${service}.sqlite`), { timeout: 10_000 });
  file.exec(`
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS requests (at TEXT DEFAULT (strftime('%FT%H:%M:%fZ')), key TEXT, what TEXT);
    CREATE TABLE IF NOT EXISTS bookings (key TEXT PRIMARY KEY, requests INTEGER, reference TEXT${ORDERS[service]});
    CREATE TABLE IF NOT EXISTS cancellations (key TEXT PRIMARY KEY, requests INTEGER, booking TEXT);
    CREATE TABLE IF NOT EXISTS behaviour (kind TEXT, moment TEXT, times INTEGER, delayMs INTEGER);
  `);
  return file;
}
