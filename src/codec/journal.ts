/**
 * The codec of journals: the commits since the last snapshot. A journal is one compressed text, or a list of parts, of
 * which each holds the commits of one write. A new part leaves the bytes before it as they are, so a table that stores
 * parts one by one writes each of them once.
 */
import * as z from "zod";
import type { CommitRecord } from "../core/event.ts";
import type { Row } from "../protocol/row.ts";
import { BytesMap } from "./bytes-map.ts";
import { compress, decompress, sha256, Unreadable } from "./canonical.ts";
import { grownBy, sha256Of } from "./growing-bytes.ts";
import { commitRecords } from "./schema/event.ts";
import { SNAPSHOT_BYTES_MAX, digestWithout, notWhole, encodeCommits } from "./snapshot.ts";
import { type SealedBy, type Sign, voucher, withVoucher } from "./voucher.ts";

/** The run of a journal and the snapshot that it follows. The seal covers both, so a journal fits no other place. */
type JournalOf = Pick<Row, "run" | "born" | "snapshot">;

/** `quality`: of the compression (`StoredSizes`). Seal null: the journal gets no keyed seal. */
interface Encoding {
  readonly seal?: JournalSeal;
  readonly quality?: number | undefined;
}

export type JournalSeal = { readonly of: JournalOf; readonly sign: Sign } | null;

export const sealedJournal = z.object({ commits: commitRecords, voucher });

/** No Brotli stream begins with this byte, so a journal in parts is never taken for a whole one. */
const IN_PARTS = 0x11;
const LENGTH_BYTES = 4;
const NOTHING = new Uint8Array();

/** The commits since the last snapshot, compressed as a whole. */
export const encodeJournal = (commits: readonly CommitRecord[], { seal = null, quality }: Encoding = {}): Uint8Array =>
  compress(journalText(commits, { seal, before: NOTHING }), quality);

/**
 * The stored journal with the newest commit as one more part. A journal that is not in parts, or is null, becomes one
 * part with all `commits`.
 */
export function appendToJournal(
  stored: Uint8Array | null,
  commits: readonly CommitRecord[],
  { seal = null, quality }: Encoding = {},
): Uint8Array {
  const before = stored !== null && isInParts(stored) ? stored : new Uint8Array([IN_PARTS]);
  const added = before === stored ? commits.slice(-1) : commits;
  const part = compress(journalText(added, { seal, before }), quality);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(part.byteLength);
  const grown = grownBy(before, [length, part]);
  assertGrown(grown, before.byteLength, part);
  return grown;
}

/** The new part is where readers look for it. */
function assertGrown(grown: Uint8Array, from: number, part: Uint8Array): void {
  const { byteLength } = part;
  let length = 0;
  for (let index = 0; index < LENGTH_BYTES; index += 1) length = length * 256 + (grown[from + index] ?? 0);
  const isWhole =
    length === byteLength && grown.byteLength === from + LENGTH_BYTES + byteLength && grown[0] === IN_PARTS;
  if (!isWhole || grown[from + LENGTH_BYTES] !== part[0]) throw notWhole("a journal");
}

export const isInParts = (journal: Uint8Array): boolean => journal[0] === IN_PARTS;

/** The seal covers the bytes before its part, so the seal of the last part covers the whole journal. */
function journalText(
  commits: readonly CommitRecord[],
  { seal, before }: { readonly seal: JournalSeal; readonly before: Uint8Array },
): string {
  const text = encodeCommits(commits);
  if (seal === null) return text;
  const bare = `{"commits":${text}}`;
  const sealed = withVoucher(bare, seal.sign("journal", journalDigest(seal.of, sha256(bare), before)));
  if (!sealed.startsWith(bare.slice(0, -1)) || !sealed.endsWith("}}")) throw notWhole("a journal");
  return sealed;
}

const journalDigest = ({ run, born, snapshot }: JournalOf, digest: string, before: Uint8Array): string =>
  sha256(
    [run, born, snapshot.digest, digest, ...(before.byteLength === 0 ? [] : [sha256Of(before).toString("hex")])].join(
      "\n",
    ),
  );

/** `isChecked`: the schema holds, because a process with the same schemas wrote the row that has the journal. */
export const decodeJournal = (bytes: Uint8Array | null, isChecked = false): readonly CommitRecord[] =>
  bytes === null ? [] : partsOf(bytes).flatMap(({ part }) => commitsIn(part, isChecked));

interface DecodedPart {
  readonly commits: readonly CommitRecord[];
  /** The schema was applied to them. */
  readonly fits: boolean;
}

/** Parts decoded lately, by digest: many readers of a run, one after the other, decode the same ones. */
const decoded = new BytesMap<DecodedPart>(8 * 1024 * 1024);

function commitsIn(part: Uint8Array, isChecked: boolean): readonly CommitRecord[] {
  const digest = sha256(part);
  const known = decoded.get(digest);
  if (known !== undefined && (isChecked || known.fits)) return known.commits;
  const text = textIn(part);
  const raw = parsed(text);
  const commits = isChecked ? sealedOrBare(raw as Sealed | readonly CommitRecord[]) : checkedCommits(raw);
  decoded.set(digest, { commits, fits: !isChecked }, text.length);
  return commits;
}

function checkedCommits(raw: unknown): readonly CommitRecord[] {
  const found = Array.isArray(raw) ? commitRecords.safeParse(raw) : sealedJournal.safeParse(raw);
  if (!found.success) throw new Unreadable(`the journal: ${z.prettifyError(found.error)}`);
  return sealedOrBare(found.data);
}

type Sealed = z.infer<typeof sealedJournal>;

const sealedOrBare = (journal: Sealed | readonly CommitRecord[]): readonly CommitRecord[] =>
  "commits" in journal ? journal.commits : journal;

/** The keyed seal of a row's journal, or null if it has none. Throws `Unreadable`. */
export function sealOfJournal(row: JournalOf & { readonly journal: Uint8Array }): SealedBy | null {
  const last = partsOf(row.journal).at(-1);
  if (last === undefined) return null;
  const text = textIn(last.part);
  const found = sealedJournal.pick({ voucher: true }).safeParse(parsed(text)).data;
  if (found === undefined) return null;
  const digest = journalDigest(row, digestWithout(text, found.voucher), last.before);
  return { what: "journal", voucher: found.voucher, digest };
}

interface Part {
  readonly part: Uint8Array;
  readonly before: Uint8Array;
}

function partsOf(journal: Uint8Array): readonly Part[] {
  if (!isInParts(journal)) return [{ part: journal, before: NOTHING }];
  const parts: Part[] = [];
  const bytes = Buffer.from(journal.buffer, journal.byteOffset, journal.byteLength);
  for (let at = 1; at < bytes.byteLength;) {
    const from = at + LENGTH_BYTES;
    const to = from <= bytes.byteLength ? from + bytes.readUInt32BE(at) : Infinity;
    if (to > bytes.byteLength) throw new Unreadable("the journal ends within a part");
    parts.push({ part: bytes.subarray(from, to), before: bytes.subarray(0, at) });
    at = to;
  }
  return parts;
}

const textIn = (part: Uint8Array): string =>
  decompress(part, { what: "the journal", bytesMax: SNAPSHOT_BYTES_MAX }).toString("utf8");

/** A journal has no digest of its own, so damaged bytes may decompress to a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Unreadable("the journal is not JSON");
  }
}
