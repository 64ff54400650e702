/** Runs whose journal lies in entries beside their row, for tests of what happens between two requests. */
import type { Commit, Row } from "../../../src/protocol/row.ts";
import { COMMIT } from "../../../src/protocol/row-commit.ts";
import { CLAIM } from "../../../src/protocol/row-claim.ts";
import { mine, queued, rowAfter, tableOf } from "./row-meetings.ts";

export const bytes = (fill: number): Uint8Array => new Uint8Array(3_000).fill(fill);
export const joined = (...fills: readonly number[]): Uint8Array => Buffer.concat(fills.map(bytes));
export const commitOf = (row: Row, journal: Uint8Array | null, more: Partial<Commit> = {}): Commit =>
  mine.commit(row, { journal, ...more });
export const journalOf = (row: Row | null): string | null =>
  row?.journal == null ? null : Buffer.from(row.journal).toString("hex");
export const hex = (...fills: readonly number[]): string => Buffer.from(joined(...fills)).toString("hex");

/** A process that holds the run and has committed one entry. */
export async function begun() {
  const table = tableOf(queued);
  const process = table.process();
  const held = rowAfter(await process.decide(mine.claim(), CLAIM));
  const first = rowAfter(await process.decide(commitOf(held, joined(1)), COMMIT));
  return { table, process, first };
}
