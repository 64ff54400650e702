/**
 * Journals beside their rows: each part of a journal (`codec/journal.ts`) is a record of its own, so a commit writes its
 * part and a row of constant size, and not the commits before it.
 *
 * A row names the record of its first part, their number, and a digest that is chained over them. Row and parts are
 * written in one transaction. After a snapshot a row names no part, and the next commit fills the first record again. A
 * record has one of a few sizes, so SQLite writes into its place and takes no page from the list of free ones. The parts
 * of a run go with its end, and a trigger removes them with its row.
 *
 * Schedule 171: a reader reads a row, another process stores a snapshot and its next commit fills the first record
 * again, and the reader reads the parts. So row and parts are read in one transaction.
 */
import type { DatabaseSync } from "node:sqlite";
import { isInParts } from "../../../codec/journal.ts";
import { type Row, hasEnded } from "../../../protocol/row.ts";
import { checksum } from "./integrity.ts";
import { PARTS_OF_A_RUN } from "./schema.ts";

/** Where the journal of a row is. `digest`: of the first `count` records from `from` on. */
export interface PartNames {
  readonly from: number;
  readonly count: number;
  readonly digest: string;
}

export interface JournalParts {
  /** The journal, null if no part is named, or why it cannot be read. */
  readonly read: (names: PartNames) => Uint8Array | null | { readonly why: string };
  /** Writes what the journal of `row` adds to that of `before`. Null: the row itself holds its journal, or has none. */
  readonly place: (before: Row, names: PartNames | null, row: Row) => PartNames | null;
}

/** The journal of a row whose parts were not read. Zero bytes stand for one in every store (`codec/checksum.ts`). */
export const BESIDE = new Uint8Array();

/** Prepares the statements for the parts in that database. */
export function journalPartsIn(db: DatabaseSync): JournalParts {
  const select = db.prepare("SELECT id, bytes FROM parts WHERE id >= ? AND id < ? ORDER BY id");
  const last = db.prepare("SELECT coalesce(max(id), 0) AS id FROM parts");
  const put = db.prepare(
    "INSERT INTO parts (id, bytes) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET bytes = excluded.bytes",
  );
  const remove = db.prepare("DELETE FROM parts WHERE id >= ? AND id < ?");
  const { page_size: pageBytes } = db.prepare("PRAGMA page_size").get() as { page_size: number };
  const freePlace = (): number => (Math.floor(Number(last.get()?.["id"]) / PARTS_OF_A_RUN) + 1) * PARTS_OF_A_RUN;

  return {
    read: ({ from, count, digest }) => {
      if (count === 0) return null;
      const found = select.all(from, from + count) as unknown as readonly { id: number; bytes: Uint8Array }[];
      if (found.length !== count)
        return { why: `${count - found.length} of the ${count} parts of its journal are missing` };
      const parts = found.map(({ bytes }) => contentOf(bytes));
      const isSame = parts.reduce((sum, part) => checksum(sum, part), "") === digest;
      return isSame ? Buffer.concat(parts) : { why: "the parts of its journal are not those that were written" };
    },
    place: (before, names, row) => {
      const { journal } = row;
      if (hasEnded(row)) {
        if (names !== null) remove.run(names.from, names.from + PARTS_OF_A_RUN);
        return null;
      }
      if (journal === null || !isInParts(journal)) return names && { ...names, ...NONE };
      const known = before.journal !== null && (names?.count ?? 0) > 0 ? before.journal : BESIDE;
      const isLonger = Buffer.compare(journal.subarray(0, known.byteLength), known) === 0;
      const part = isLonger ? journal.subarray(known.byteLength) : journal;
      if (names !== null && isLonger && part.byteLength === 0) return names;
      const { from, count, digest } = {
        from: names?.from ?? freePlace(),
        ...(isLonger && names !== null ? names : NONE),
      };
      put.run(from + count, recordOf(part, pageBytes));
      return { from, count: count + 1, digest: checksum(digest, part) };
    },
  };
}

const NONE = { count: 0, digest: "" };

const LENGTH_BYTES = 4;

/** The length of the part, the part, and zeros up to the size of the record. */
function recordOf(part: Uint8Array, pageBytes: number): Uint8Array {
  const record = Buffer.alloc(recordBytes(LENGTH_BYTES + part.byteLength, pageBytes));
  record.writeUInt32BE(part.byteLength);
  record.set(part, LENGTH_BYTES);
  return record;
}

/** The part in a record. A length that is damaged gives another part, whose digest differs. */
function contentOf(record: Uint8Array): Uint8Array {
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  return bytes.subarray(LENGTH_BYTES, LENGTH_BYTES + (bytes.byteLength < LENGTH_BYTES ? 0 : bytes.readUInt32BE(0)));
}

/**
 * The least size that fills whole pages: the page of the table with a record, and the pages behind it. Numbers as the
 * file format of SQLite has them.
 */
function recordBytes(bytes: number, pageBytes: number): number {
  const first = pageBytes - 35 - RECORD_HEADER_BYTES;
  return first + Math.ceil(Math.max(0, bytes - first) / (pageBytes - 4)) * (pageBytes - 4);
}

const RECORD_HEADER_BYTES = 4;
