/**
 * Each service of this small world keeps a SQLite file of its own, which outlives the agent's process and which
 * several processes may use at once. The files keep SQLite's rollback journal: two processes that make one file at the
 * same time collide on the switch to WAL, which does not wait for the other ("database is locked").
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export type Service = "search" | "airline" | "hotel" | "card" | "mail" | "model";

/** What a booking holds besides key and reference; `search` and `model` only count requests. */
const ORDERS: Readonly<Record<Service, string>> = {
  search: "",
  airline: ", flight TEXT, route TEXT, date TEXT, hours INTEGER, priceUsd INTEGER, traveller TEXT",
  hotel: ", hotel TEXT, checkIn TEXT, nights INTEGER, stars INTEGER, priceUsd INTEGER, traveller TEXT",
  card: ", amountUsd INTEGER, flight TEXT, hotel TEXT, traveller TEXT",
  mail: ", flight TEXT, hotel TEXT, charge TEXT, traveller TEXT",
  model: "",
};

/** Where the files are, unless a caller says so. */
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
