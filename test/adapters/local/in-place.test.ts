/** Whether a store that is opened has all that was committed to it, also while other processes commit. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { atomically } from "../../../src/adapters/local/database.ts";
import { inPlace } from "../../../src/adapters/local/in-place.ts";
import { temporaryStore } from "../../process/fixtures/store.ts";

it("finds no loss when another process commits while the store is opened", () => {
  const other = temporaryStore();
  const file = join(other.dir, "cairn.sqlite");
  const db = new DatabaseSync(file);
  const prepare = db.prepare.bind(db);
  db.prepare = (sql) => {
    const statement = prepare(sql);
    if (sql !== "SELECT count FROM commits") return statement;
    const get = statement.get.bind(statement);
    statement.get = () => {
      const found = get();
      atomically(other, () => other.rows.exec("INSERT OR REPLACE INTO meta (name, value) VALUES ('x', 'y')"));
      return found;
    };
    return statement;
  };
  const { lacks, close } = inPlace({ dir: other.dir, file, rows: db });
  close();
  db.close();
  expect(lacks).toBe(0);
});
