/**
 * Canonical JSON (RFC 8785), digests and compression: equal values have equal bytes, so equal digests.
 */
import { createHash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import canonicalizeJson from "canonicalize";
import type { Json } from "../core/json.ts";

/** The canonical text of a value. Throws where a value is no JSON; see `asJson` for values of unknown origin. */
export function canonical(value: unknown): string {
  const text = canonicalizeJson(value);
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

/** Lower-case hex. Text is hashed as UTF-8. */
export const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

export const digestOf = (value: Json): string => sha256(canonical(value));

const QUALITY = 4;

export function compress(content: string | Uint8Array): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
  };
  return brotliCompressSync(bytes, { params });
}

/** Throws `Unreadable`, which names `what`, when the bytes are no such thing or come to more than `bytesMax`. */
export function decompress(bytes: Uint8Array, { what, bytesMax }: { what: string; bytesMax: number }): Buffer {
  try {
    return brotliDecompressSync(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    throw new Unreadable(`${what} cannot be decompressed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Something stored cannot be read or verified. Nothing may be committed over it: the run is left as it is and an
 * alarm is raised.
 */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
  readonly code: string;
  constructor(message: string, code = "Unreadable") {
    super(message);
    this.code = code;
  }
}
