/**
 * The external world of the examples: a SQLite file with one row per effect. An equal idempotency key returns the first
 * effect, as a real service does; another key makes a second one.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface Effect {
  readonly tool: string;
  readonly key: string;
  /** What the effect is about. Two effects of one tool about the same thing are a duplicate. */
  readonly of: string;
  readonly what: string;
}

/** The folder of the file: `EXAMPLES` names another one. */
const folder = (): string => process.env.EXAMPLES ?? join(".cairn", "examples");

/** Records the effect once per key, and returns its number. */
export function act({ tool, key, of, what }: Effect): number {
  using file = opened(folder());
  const row = file
    .prepare(
      `INSERT INTO effects (tool, key, subject, what) VALUES (?, ?, ?, ?)
       ON CONFLICT (key) DO UPDATE SET requests = requests + 1 RETURNING id`,
    )
    .get(tool, key, of, what);
  return Number(row?.id);
}

/** All effects, for `cairn chaos` and for a reader. */
export function effectsIn(dir: string): readonly Effect[] {
  using file = opened(dir);
  const rows = file.prepare("SELECT tool, key, subject, what FROM effects ORDER BY id").all();
  return rows.map(({ tool, key, subject, what }) => ({
    tool: String(tool),
    key: String(key),
    of: String(subject),
    what: String(what),
  }));
}

function opened(dir: string): DatabaseSync {
  mkdirSync(dir, { recursive: true });
  const file = new DatabaseSync(join(dir, "outside.sqlite"), { timeout: 5_000 });
  file.exec(
    `CREATE TABLE IF NOT EXISTS effects
     (id INTEGER PRIMARY KEY, tool TEXT, key TEXT UNIQUE, subject TEXT, what TEXT, requests INTEGER DEFAULT 1)`,
  );
  return file;
}

/** For `chaos`: each store has its own world. */
export const worldOf = (dir: string): string => join(dir, "examples");
