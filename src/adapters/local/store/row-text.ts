/**
 * A run row as text in the embedded store. Each write reads the previous row in the same transaction. So a checksum
 * covers the whole row with its journal, also what claims and deliveries change, and detects every changed bit.
 */
import { type Found, RowDamaged, decodeRow } from "../../../codec/row.ts";
import type { Row } from "../../../protocol/row.ts";
import { UNCOUNTED } from "../../../protocol/uncounted.ts";
import { checksum } from "./integrity.ts";

/** The columns in which a row is stored. */
export interface Stored {
  readonly row: string;
  readonly journal: Uint8Array | null;
}

/** Names under which fields are stored, where they differ from those of the code. */
const CODE_NAMES: Readonly<Record<string, keyof Row>> = {
  told: "endNotified",
  stirs: "wakeCount",
  stirsSeen: "wakeCountSeen",
  quietUntil: "effectsSettleAt",
};

function storedFields(row: Row): object {
  const { endNotified, wakeCount, wakeCountSeen, effectsSettleAt, journal: _, ...others } = row;
  return { ...others, told: endNotified, stirs: wakeCount, stirsSeen: wakeCountSeen, quietUntil: effectsSettleAt };
}

/** The fields under the names of the code. */
const codeFields = (stored: object): object =>
  Object.fromEntries(Object.entries(stored).map(([name, value]) => [CODE_NAMES[name] ?? name, value]));

/**
 * Spaces in front of the checksum give row and journal a size that is a multiple of `ROOM_BYTES`. SQLite writes a record
 * of the same size into its place, and only the pages that differ; one of another size is moved to other pages.
 */
export function storedRow(row: Row): Stored {
  const { journal } = row;
  const fields = JSON.stringify(storedFields(row)).slice(0, -1);
  // The header of the record has one byte more for a journal than for none.
  const bytes = Buffer.byteLength(fields, "utf8") + SUM_BYTES + (journal === null ? 0 : journal.byteLength + 1);
  const padded = fields + " ".repeat(Math.ceil(bytes / ROOM_BYTES) * ROOM_BYTES - bytes);
  return { row: `${padded},"sum":"${sumOf({ row: `${padded}}`, journal })}"}`, journal };
}

const ROOM_BYTES = 4_096;
const SUM_BYTES = `,"sum":"${"0".repeat(16)}"}`.length;

/** The row in a stored text, or its damage. `run` is its key. A row without a checksum is older than checksums. */
export function rowOf({ row, journal }: Stored, run: string): Found {
  const [, text, sum] = SUMMED.exec(row) ?? [];
  if (text !== undefined && sum !== sumOf({ row: `${text}}`, journal })) return new RowDamaged(run, CHANGED);
  const fields = fieldsIn(text === undefined ? row : `${text}}`);
  if (fields === undefined) return new RowDamaged(run, "it is no JSON");
  if (typeof fields !== "object" || fields === null) return decodeRow(fields, run);
  return "sum" in fields
    ? new RowDamaged(run, CHANGED)
    : decodeRow({ ...UNCOUNTED, ...codeFields(fields), journal }, run);
}

const SUMMED = /^(.*),"sum":"([0-9a-f]{16})"\}$/s;
const CHANGED = "its bytes are not those that were written";

const sumOf = ({ row, journal }: Stored): string => checksum(row, journal ?? "");

function fieldsIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
