/**
 * The rows that this process wrote or read last, with their texts. Each operation reads the row that it changes, and
 * mostly that row is the one that this process wrote before. Its text is compared with the stored one byte by byte. So
 * a row that another process changed, or that was damaged, is decoded and checked as ever; only an equal one is not
 * parsed again. A text has the digest of the parts of its journal, so with an equal text they are not read again either.
 */
import type { DatabaseSync } from "node:sqlite";
import { type Found, RowUnreadable } from "../../../codec/row.ts";
import type { Row } from "../../../protocol/row.ts";
import { type JournalParts, type PartNames, journalPartsIn } from "./journal-parts.ts";
import { type Stored, rowInText, storedRow } from "./row-text.ts";

export interface RowMemo {
  /** The row in a stored text if the process knows it. */
  readonly known: (stored: Stored, run: string) => Row | null;
  /** The row in a stored text, or its damage. Call it in the transaction that read the text. */
  readonly read: (stored: Stored, run: string) => Found;
  /**
   * The columns in which the row is stored in place of `before`, which this memo returned; null for a new row. Writes
   * what its journal adds. Call it only for a row that is about to be written.
   */
  readonly written: (row: Row, before: Row | null) => Stored;
}

/** More than a process has runs at once. */
const ROWS_MAX = 512;

interface Kept {
  readonly stored: Stored;
  readonly row: Row;
  readonly names: PartNames | null;
}

function rowMemo(parts: JournalParts): RowMemo {
  const kept = new Map<string, Kept>();
  /** Where the journal of a row is that was handed out. */
  const places = new WeakMap<Row, PartNames>();
  const keep = (run: string, entry: Kept): void => {
    kept.delete(run);
    // A caller may change the bytes of a journal in the row that it handed over or got. Nothing changes parts.
    const journal = entry.stored.journal && Uint8Array.from(entry.stored.journal);
    kept.set(run, { ...entry, stored: { ...entry.stored, journal } });
    const [oldest = run] = kept.keys();
    if (kept.size > ROWS_MAX) kept.delete(oldest);
  };
  const handedOut = (row: Row, names: PartNames | null): Row => {
    if (names !== null) places.set(row, names);
    return row;
  };
  return {
    known: (stored, run) => {
      const last = kept.get(run);
      if (last === undefined || !isSame(last.stored, stored)) return null;
      const { row, names } = last;
      const isBeside = names !== null && names.count > 0;
      return handedOut({ ...row, journal: isBeside ? row.journal : stored.journal }, names);
    },
    read: (stored, run) => {
      let names: PartNames | null = null;
      const found = rowInText(stored, run, (named) => {
        names = named;
        return parts.read(named);
      });
      if (found instanceof RowUnreadable) return found;
      keep(run, { stored, row: found, names });
      return handedOut(found, names);
    },
    written: (row, before) => {
      const names = before === null ? null : parts.place(before, places.get(before) ?? null, row);
      const stored = storedRow(row, names);
      keep(row.run, { stored, row, names });
      return stored;
    },
  };
}

/** A write that was rolled back leaves a text that the store does not have, so the next read decodes its own. */
const isSame = (one: Stored, other: Stored): boolean =>
  one.row === other.row && one.parts === other.parts && isSameBytes(one.journal ?? NO_BYTES, other.journal ?? NO_BYTES);

const NO_BYTES = new Uint8Array();
const isSameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

const memos = new WeakMap<DatabaseSync, RowMemo>();

/** The memo of that connection. */
export function rowMemoOf(db: DatabaseSync): RowMemo {
  const memo = memos.get(db) ?? rowMemo(journalPartsIn(db));
  memos.set(db, memo);
  return memo;
}
