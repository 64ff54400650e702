/** How many statements an access runs on the connection of a store, and how often a transaction of it waits for the disk. */
import { StatementSync } from "node:sqlite";
import type { Store } from "../../../src/adapters/local/store/database.ts";

const METHODS = ["run", "get", "all"] as const;

interface Statements {
  readonly statements: number;
  /** Commits while the connection waits for the disk at each of them. */
  readonly syncs: number;
}

/** Statements prepared before count too: the methods are replaced for the time of the access. */
export async function countStatements({ rows }: Store, access: () => Promise<void>): Promise<Statements> {
  const counted = { statements: 0, syncs: 0 };
  const originals = METHODS.map((name) => [name, StatementSync.prototype[name]] as const);
  const exec = rows.exec.bind(rows);
  let waits = rows.prepare("PRAGMA synchronous").get()?.["synchronous"] === 2;
  for (const [name, original] of originals) {
    const count = function (this: StatementSync, ...given: never[]): unknown {
      counted.statements += 1;
      return Reflect.apply(original, this, given);
    };
    Reflect.set(StatementSync.prototype, name, count);
  }
  rows.exec = (sql) => {
    counted.statements += 1;
    if (sql.startsWith("PRAGMA synchronous")) waits = sql.includes("FULL");
    if (sql === "COMMIT" && waits) counted.syncs += 1;
    exec(sql);
  };
  try {
    await access();
  } finally {
    for (const [name, original] of originals) Reflect.set(StatementSync.prototype, name, original);
    Reflect.deleteProperty(rows, "exec");
  }
  return counted;
}
