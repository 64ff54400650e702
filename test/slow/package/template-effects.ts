/** What the agents of the templates did to the world. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";

/** How many files each folder of a template's office has. */
export const officeIn = (project: string, ...kinds: readonly string[]): readonly number[] =>
  kinds.map((kind) => readdirSync(join(project, ".office", kind)).length);

/** Reservations, payments and parcels that were sent. The queue is emptied first, by its own process. */
export function warehouseIn(project: string): readonly number[] {
  const words = [join("agents", "orders", "dispatcher.ts"), "--once"];
  const { stdout } = spawnSync(process.execPath, words, { cwd: project, encoding: "utf8" });
  expect(stdout).toBe("parcel of A-2 sent to ben@example.org\n");
  using database = new DatabaseSync(join(project, ".warehouse", "warehouse.sqlite"));
  const tables = ["reservations WHERE released = 0", "payments", "parcels WHERE sent IS NOT NULL"];
  return tables.map((table) => Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"]));
}
