/**
 * Converts JSON lines to gzip members of about a megabyte and back. Concatenated members are one gzip file for every
 * reader. The writer holds one member in memory at a time; the reader holds the bytes and one line.
 */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { Unreadable, sha256 } from "./canonical.ts";

const MEMBER_CHARACTERS = 1024 * 1024;
/** For 70 MB, a higher level saves 10 % more space but takes 2.5 times as long. */
const GZIP = { level: 4, chunkSize: 256 * 1024 } as const;

/** Joins lines to texts of about that size, in order. It pulls lines lazily. */
export function* chunked(
  lines: Iterable<string>,
  charactersMax: number = MEMBER_CHARACTERS,
): Generator<string, undefined> {
  let text: string[] = [];
  let characters = 0;
  for (const each of lines) {
    text.push(each);
    characters += each.length;
    if (characters < charactersMax) continue;
    yield `${text.join("\n")}\n`;
    text = [];
    characters = 0;
  }
  if (text.length > 0) yield `${text.join("\n")}\n`;
}

export const member = (chunk: string): Uint8Array => gzipSync(chunk, GZIP);

/** Lines as gzip members, in order. */
export const packed = (lines: Iterable<string>): readonly Uint8Array[] => [...chunked(lines)].map(member);

/** The lines of one gzip member, as text. */
export const unpacked = (packedLines: Uint8Array): string => gunzipSync(packedLines).toString("utf8");

/** The SHA-256 digest (hex) of a text that arrives in pieces. */
export class RunningDigest {
  readonly #hash = createHash("sha256");

  add(text: string): void {
    this.#hash.update(text);
  }

  /** The digest of all pieces. Call it once, after the last `add`. */
  end(): string {
    return this.#hash.digest("hex");
  }
}

/** A limit against decompression bombs: no archive of cairn is larger uncompressed. */
const ARCHIVE_BYTES_MAX = 2 * 1024 ** 3;
const NEWLINE = 10;

/** The bytes of an archive, gzipped or not. Throws for one that is damaged, and for one that is too large. */
export function plainArchive(bytes: Uint8Array): Buffer {
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return isPacked ? gunzipSync(bytes, { maxOutputLength: ARCHIVE_BYTES_MAX }) : Buffer.from(bytes);
}

interface RawLine {
  readonly raw: unknown;
  /** The digest of all bytes before this line. */
  readonly digest: () => string;
}

/**
 * The lines of an archive, gzipped or not, parsed one by one: all lines together may exceed the maximum string length.
 * Throws `Unreadable`.
 */
export function* linesOf(bytes: Uint8Array): Generator<RawLine, undefined> {
  try {
    const whole = plainArchive(bytes);
    for (let from = 0; from < whole.byteLength;) {
      const start = from;
      const to = whole.indexOf(NEWLINE, start);
      const end = to < 0 ? whole.byteLength : to;
      const why = changeOf(whole, { start, end });
      if (why !== null) throw new Unreadable(`the archive was changed by a tool that copies text: ${why}`);
      yield { raw: JSON.parse(whole.toString("utf8", start, end)), digest: () => sha256(whole.subarray(0, start)) };
      from = end + 1;
    }
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(`the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

const CARRIAGE_RETURN = 13;
const UTF8_MARK = Buffer.from("\u{feff}");

/** What a tool has done to this line that copies text instead of bytes; null: nothing of the kind. */
function changeOf(whole: Buffer, { start, end }: { readonly start: number; readonly end: number }): string | null {
  if (start === 0 && whole.subarray(0, UTF8_MARK.length).equals(UTF8_MARK)) return "it begins with a byte order mark";
  if (end > start && whole[end - 1] === CARRIAGE_RETURN)
    return "its lines end with CR LF; dos2unix changes that back, and a copy in binary mode leaves it as it is";
  return null;
}
