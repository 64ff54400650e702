/**
 * A run row as text in the embedded store. Each write reads the previous row in the same transaction. So a checksum
 * covers the whole row with its journal, also what claims and deliveries change, and detects every changed bit.
 */
import { type Found, RowDamaged, decodeRow } from "../../../codec/row.ts";
import type { Row } from "../../../protocol/row.ts";
import { checksum } from "./integrity.ts";
import { BESIDE, type JournalParts, type PartNames } from "./journal-parts.ts";

/** The columns in which a row is stored. */
export interface Stored {
  readonly row: string;
  readonly journal: Uint8Array | null;
  /** The record of the first part of its journal, as the text names it too; null without one. */
  readonly parts: number | null;
}

/**
 * What claims, commits and releases of a beat change. The other fields come first, then spaces, then these and the
 * checksum. So all that a beat changes is on the last page of a row, and SQLite writes only that page.
 *
 * The spaces give row and journal a size that is a multiple of `ROOM_BYTES`. SQLite writes a record of the same size
 * into its place, and only the pages that differ; one of another size is moved to other pages.
 */
const OF_A_BEAT: ReadonlySet<string> = new Set<keyof Row | "parts">([
  ...([
    "epoch",
    "owner",
    "leaseUntil",
    "claims",
    "claimedAt",
    "entry",
    "chainClaims",
    "unaccountedModelCalls",
    "marksAtClaim",
  ] as const),
  ...(["version", "commitId", "phase", "spent", "deadline", "lastCheckpointAt", "checksum", "parts"] as const),
]);

/** `parts`: where its journal is, if it is not in the row itself. */
export function storedRow(row: Row, parts: PartNames | null = null): Stored {
  const journal = (parts?.count ?? 0) > 0 ? BESIDE : row.journal;
  const names = parts === null ? {} : { parts: [parts.from, parts.count, parts.digest] };
  const ofBeat: Record<string, unknown> = {};
  const others: Record<string, unknown> = {};
  const { journal: _, ...fields } = row;
  for (const [name, value] of Object.entries({ ...fields, ...names }))
    (OF_A_BEAT.has(name) ? ofBeat : others)[name] = value;
  const [steady, changing] = [textOf(others), textOf(ofBeat)];
  // The header of the record has one byte more for a journal than for none.
  const bytes =
    Buffer.byteLength(steady + changing, "utf8") + SUM_BYTES + (journal === null ? 0 : journal.byteLength + 1);
  const spaces = " ".repeat(Math.ceil(bytes / ROOM_BYTES) * ROOM_BYTES - bytes);
  const padded = `{${steady}${spaces},${changing}`;
  return { row: summed(padded, journal), journal, parts: parts?.from ?? null };
}

/** The text of a row, of its fields without the closing brace, with its checksum. */
export const summed = (open: string, journal: Uint8Array | null): string =>
  `${open},"sum":"${sumOf({ row: `${open}}`, journal })}"}`;

/** The fields as JSON, without its braces. */
const textOf = (fields: object): string => JSON.stringify(fields).slice(1, -1);

/** With pages of 1 KB, the page of the table with the begin of a row, and one more page. */
const ROOM_BYTES = 1_536;
const SUM_BYTES = `{,,"sum":"${"0".repeat(16)}"}`.length;

/** How to read a journal that is beside its row. Lists leave it out. */
export type ReadParts = JournalParts["read"];
export const withoutParts: ReadParts = ({ count }) => (count === 0 ? null : BESIDE);

/** The row in a stored text, or its damage. `run` is its key. */
export function rowInText({ row, journal, parts }: Stored, run: string, readParts: ReadParts): Found {
  const [, text, sum] = SUMMED.exec(row) ?? [];
  const fields = fieldsIn(text === undefined ? row : `${text}}`);
  if (typeof fields !== "object" || fields === null) return new RowDamaged(run, "it is no JSON");
  if (text === undefined || sum !== sumOf({ row: `${text}}`, journal })) return new RowDamaged(run, CHANGED);
  const { parts: named, ...others } = fields as { readonly parts?: unknown };
  const read = named === undefined ? journal : journalAt({ named, from: parts }, readParts);
  if (read !== null && "why" in read) return new RowDamaged(run, read.why);
  return decodeRow({ ...others, journal: read ?? journal }, run);
}

function journalAt(
  given: { readonly named: unknown; readonly from: number | null },
  read: ReadParts,
): ReturnType<ReadParts> {
  const [from, count, digest]: readonly unknown[] = Array.isArray(given.named) ? given.named : [];
  if (!isCount(from) || !isCount(count) || typeof digest !== "string")
    return { why: "it does not say where its journal is" };
  return from === given.from ? read({ from, count, digest }) : { why: "it names another place for its journal" };
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

const SUMMED = /^(.*),"sum":"([0-9a-f]{16})"\}$/s;
const CHANGED = "its bytes are not those that were written";

const sumOf = ({ row, journal }: Pick<Stored, "row" | "journal">): string => checksum(row, journal ?? "");

function fieldsIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
