/** Canonical JSON (RFC 8785), digests and compression: equal values have equal bytes and therefore equal digests. */
import { createHash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import canonicalizeJson from "canonicalize";
import type { Json } from "../core/json.ts";

/** The canonical text of a JSON value. Throws for any other value; use `asJson` for values of unknown origin. */
export function canonical(value: unknown): string {
  const text = canonicalizeJson(value);
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

const texts = new WeakMap<object, string>();

/** The canonical text of a list whose members never change. The text of each member is made once and kept with it. */
export const canonicalList = (members: readonly object[]): string =>
  `[${members
    .map((member) => {
      const text = texts.get(member) ?? canonical(member);
      texts.set(member, text);
      return text;
    })
    .join(",")}]`;

/** The value as it is read back from its canonical text, which is kept with it. */
export function asStored<T extends object>(value: T): T {
  const text = canonical(value);
  const stored = JSON.parse(text) as T;
  texts.set(stored, text);
  return stored;
}

/** The canonical text of an object from the canonical texts of its members. */
export const canonicalOf = (members: Readonly<Record<string, string>>): string =>
  `{${Object.keys(members)
    .toSorted()
    .map((name) => `${JSON.stringify(name)}:${members[name]}`)
    .join(",")}}`;

/** The SHA-256 digest in lower-case hex. Text is hashed as UTF-8. */
export const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

export const digestOf = (value: Json): string => sha256(canonical(value));

/** Of half the time of quality 4, and a few percent more bytes. */
const QUALITY = 2;

/** `quality`: of Brotli. */
export function compress(content: string | Uint8Array, quality = QUALITY): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
  };
  return brotliCompressSync(bytes, { params });
}

/** Throws `Unreadable`, which names `what`, when the bytes are not Brotli or decompress to more than `bytesMax`. */
export function decompress(bytes: Uint8Array, { what, bytesMax }: { what: string; bytesMax: number }): Buffer {
  try {
    return brotliDecompressSync(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    throw new Unreadable(`${what} cannot be decompressed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Stored data cannot be read or verified. No process may commit over it: the run is left unchanged, and an alarm names
 * it. `code` is stable.
 */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly code: string;
  constructor(message: string, code = "Unreadable") {
    super(message);
    this.code = code;
  }
}
