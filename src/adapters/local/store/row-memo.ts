/**
 * The rows that this process wrote or read last, with their texts. Each operation reads the row that it changes, and
 * mostly that row is the one that this process wrote before. Its text is compared with the stored one byte by byte. So
 * a row that another process changed, or that was damaged, is decoded and checked as ever; only an equal one is not
 * parsed again.
 */
import type { DatabaseSync } from "node:sqlite";
import { type Found, RowUnreadable } from "../../../codec/row.ts";
import type { Row } from "../../../protocol/row.ts";
import { type Stored, rowOf, storedRow } from "./row-text.ts";

export interface RowMemo {
  /** The row in a stored text, or its damage. */
  readonly read: (stored: Stored, run: string) => Found;
  /** The columns in which the row is stored. Call it only for a row that is about to be written. */
  readonly written: (row: Row) => Stored;
}

/** More than a process has runs at once. */
const ROWS_MAX = 512;

function rowMemo(): RowMemo {
  const known = new Map<string, { readonly stored: Stored; readonly row: Row }>();
  const keep = (run: string, stored: Stored, row: Row): void => {
    known.delete(run);
    // A caller may change the bytes that it handed over or got.
    const journal = stored.journal && Uint8Array.from(stored.journal);
    known.set(run, { stored: { row: stored.row, journal }, row });
    const [oldest = run] = known.keys();
    if (known.size > ROWS_MAX) known.delete(oldest);
  };
  return {
    read: (stored, run) => {
      const last = known.get(run);
      if (last !== undefined && isSame(last.stored, stored)) return { ...last.row, journal: stored.journal };
      const found = rowOf(stored, run);
      if (!(found instanceof RowUnreadable)) keep(run, stored, found);
      return found;
    },
    written: (row) => {
      const stored = storedRow(row);
      keep(row.run, stored, row);
      return stored;
    },
  };
}

/** A write that was rolled back leaves a text that the store does not have, so the next read decodes its own. */
const isSame = (one: Stored, other: Stored): boolean =>
  one.row === other.row && isSameBytes(one.journal ?? NO_BYTES, other.journal ?? NO_BYTES);

const NO_BYTES = new Uint8Array();
const isSameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

const memos = new WeakMap<DatabaseSync, RowMemo>();

/** The memo of that connection. */
export function rowMemoOf(db: DatabaseSync): RowMemo {
  const memo = memos.get(db) ?? rowMemo();
  memos.set(db, memo);
  return memo;
}
