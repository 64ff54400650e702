/**
 * The fake services of a trial: one file per directory, with a row for each effect. The processes that are killed write
 * it, and the command reads it: like the records of a real service, it outlives a process. A class that deduplicates gets
 * its first result again for a known key; any other class makes another effect.
 */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Json } from "../core/json.ts";
import type { OutsideEffect } from "../sdk/chaos.ts";

/** A request to a fake service. */
export interface FakeRequest {
  readonly tool: string;
  readonly key: string;
  /** Two effects of one tool with the same subject are a duplicate. */
  readonly subject: string;
  readonly isDeduplicated: boolean;
  readonly result: () => Promise<Json>;
}

type KeyOfCall = Pick<FakeRequest, "tool" | "key">;

export class Fakes {
  readonly #path: string;

  /** `dir`: the directory of a pass. */
  constructor(dir: string) {
    this.#path = join(dir, "fakes.sqlite");
  }

  /** Makes the effect, and returns its result. */
  async act({ tool, key, subject, isDeduplicated, result }: FakeRequest): Promise<Json> {
    const known = isDeduplicated ? this.find({ tool, key }) : null;
    if (known !== null) return known.result;
    const json = await result();
    using file = this.#opened();
    file
      .prepare(
        isDeduplicated
          ? `INSERT INTO effects (tool, key, subject, result) SELECT ?1, ?2, ?3, ?4
             WHERE NOT EXISTS (SELECT 1 FROM effects WHERE tool = ?1 AND key = ?2)`
          : "INSERT INTO effects (tool, key, subject, result) VALUES (?1, ?2, ?3, ?4)",
      )
      .run(tool, key, subject, JSON.stringify(json));
    return json;
  }

  /** What the service knows of a key; null: nothing. */
  find({ tool, key }: KeyOfCall): { readonly result: Json; readonly undone: boolean } | null {
    using file = this.#opened();
    const row = file
      .prepare("SELECT result, undone FROM effects WHERE tool = ? AND key = ? ORDER BY id")
      .get(tool, key);
    return row === undefined
      ? null
      : { result: JSON.parse(String(row["result"])) as Json, undone: row["undone"] === 1 };
  }

  /** Takes back the effects of that key. */
  undo({ tool, key }: KeyOfCall): void {
    using file = this.#opened();
    file.prepare("UPDATE effects SET undone = 1 WHERE tool = ? AND key = ?").run(tool, key);
  }

  /** All effects that remain. */
  effects(): readonly OutsideEffect[] {
    using file = this.#opened();
    const rows = file.prepare("SELECT tool, key, subject FROM effects WHERE undone = 0 ORDER BY id").all();
    return rows.map(({ tool, key, subject }) => ({ tool: String(tool), id: String(key), of: String(subject) }));
  }

  #opened(): DatabaseSync {
    const file = new DatabaseSync(this.#path, { timeout: 10_000 });
    file.exec(
      `CREATE TABLE IF NOT EXISTS effects
       (id INTEGER PRIMARY KEY, tool TEXT, key TEXT, subject TEXT, result TEXT, undone INTEGER DEFAULT 0)`,
    );
    return file;
  }
}
