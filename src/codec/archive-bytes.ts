/**
 * JSON lines as bytes and back: gzip members of about a megabyte, one after another, which are one gzip file for every
 * reader. Whoever writes holds a member at a time, and whoever reads holds the bytes and a line.
 */
import { createHash } from "node:crypto";
import { gunzipSync, gzipSync } from "node:zlib";
import { Unreadable, sha256 } from "./canonical.ts";

const MEMBER_CHARACTERS = 1024 * 1024;
/** Of 70 MB a higher level takes 10 % more off, and 2.5 times as long. */
const GZIP = { level: 4, chunkSize: 256 * 1024 } as const;

/** Lines as texts of about a megabyte, in order; they are asked for as the texts are made. */
export function* chunked(lines: Iterable<string>): Generator<string, undefined> {
  let text: string[] = [];
  let characters = 0;
  for (const each of lines) {
    text.push(each);
    characters += each.length;
    if (characters < MEMBER_CHARACTERS) continue;
    yield `${text.join("\n")}\n`;
    text = [];
    characters = 0;
  }
  if (text.length > 0) yield `${text.join("\n")}\n`;
}

export const member = (chunk: string): Uint8Array => gzipSync(chunk, GZIP);

/** Lines as gzip members, in order. */
export const packed = (lines: Iterable<string>): readonly Uint8Array[] => [...chunked(lines)].map(member);

/** The lines of one of them. */
export const unpacked = (packedLines: Uint8Array): string => gunzipSync(packedLines).toString("utf8");

/** The digest of a text that comes in pieces. */
export class RunningDigest {
  readonly #hash = createHash("sha256");

  add(text: string): void {
    this.#hash.update(text);
  }

  /** Of everything so far; nothing can be added after that. */
  end(): string {
    return this.#hash.digest("hex");
  }
}

/** Nobody reads one where memory is short; a file that claims to be more is none of ours. */
const ARCHIVE_BYTES_MAX = 2 * 1024 ** 3;
const NEWLINE = 10;

interface RawLine {
  readonly raw: unknown;
  /** Of everything before this line. */
  readonly digest: () => string;
}

/** Line by line out of the bytes: all of them as one text may be more than a text can be. They may be gzipped or not. */
export function* linesOf(bytes: Uint8Array): Generator<RawLine, undefined> {
  try {
    const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
    const whole = isPacked ? gunzipSync(bytes, { maxOutputLength: ARCHIVE_BYTES_MAX }) : Buffer.from(bytes);
    for (let from = 0; from < whole.byteLength;) {
      const start = from;
      const to = whole.indexOf(NEWLINE, start);
      const end = to < 0 ? whole.byteLength : to;
      yield { raw: JSON.parse(whole.toString("utf8", start, end)), digest: () => sha256(whole.subarray(0, start)) };
      from = end + 1;
    }
  } catch (error) {
    if (error instanceof Unreadable) throw error;
    throw new Unreadable(`the archive cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
