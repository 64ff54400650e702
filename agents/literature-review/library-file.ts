/**
 * The storage of the library: one SQLite file, which outlives the agent's process and may be used by several at once.
 * It keeps SQLite's rollback journal: with WAL, two processes that create one file at the same time collide.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** The folder of the library. `LIBRARY` names another one. */
const libraryDir = (): string => process.env.LIBRARY ?? join(process.env.CAIRN_STORE ?? ".cairn", "library");

/** A killed process loses nothing that it wrote. The loss of power may, and this library is an example. */
export function openLibrary(dir = libraryDir()): DatabaseSync {
  mkdirSync(dir, { recursive: true });
  const file = new DatabaseSync(join(dir, "library.sqlite"), { timeout: 10_000 });
  file.exec(`
    PRAGMA synchronous = OFF;
    CREATE TABLE IF NOT EXISTS requests
      (id INTEGER PRIMARY KEY, what TEXT, subject TEXT, answer TEXT, at TEXT DEFAULT (strftime('%FT%H:%M:%fZ')));
    CREATE TABLE IF NOT EXISTS deliveries (key TEXT PRIMARY KEY, paper TEXT, section TEXT, etag TEXT);
    CREATE TABLE IF NOT EXISTS revisions (paper TEXT PRIMARY KEY, revision INTEGER);
    CREATE TABLE IF NOT EXISTS notes
      (run TEXT, paper TEXT, section TEXT, etag TEXT, evidence TEXT, PRIMARY KEY (run, paper, section));
    CREATE TABLE IF NOT EXISTS chapters (run TEXT, subject TEXT, lead TEXT, body TEXT, PRIMARY KEY (run, subject));
    CREATE TABLE IF NOT EXISTS reviews
      (id INTEGER PRIMARY KEY, key TEXT UNIQUE, reader TEXT, title TEXT, body TEXT, requests INTEGER DEFAULT 1);
  `);
  return file;
}

/** Counts a request, and how it was answered. */
export function count(file: DatabaseSync, request: { what: string; subject: string; answer: string }): void {
  const { what, subject, answer } = request;
  file.prepare("INSERT INTO requests (what, subject, answer) VALUES (?, ?, ?)").run(what, subject, answer);
}
