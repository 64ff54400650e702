/** Canonical JSON (RFC 8785), digests and compression: equal values have equal bytes and therefore equal digests. */
import { hash } from "node:crypto";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import canonicalizeJson from "canonicalize";
import type { Json } from "../core/json.ts";
import { SIZES } from "./limits.ts";

/** The canonical text of a JSON value. Throws for any other value; use `asJson` for values of unknown origin. */
export function canonical(value: unknown): string {
  // `JSON.stringify` takes a fraction of the time.
  const ordered = inOrder(value, SIZES.jsonDepthMax);
  if (ordered !== UNCLEAR) return JSON.stringify(ordered);
  const text = canonicalizeJson(value);
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

const UNCLEAR = Symbol("unclear");

/**
 * The same data with its names in canonical order, so that `JSON.stringify` writes the canonical text. What was read from
 * such a text is returned as it is. `UNCLEAR` for anything but plain data: the caller has a slower way.
 */
function inOrder(value: unknown, depthLeft: number): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : UNCLEAR;
  if (typeof value === "number") return Number.isFinite(value) ? value : UNCLEAR;
  if (typeof value !== "object") return typeof value === "boolean" ? value : UNCLEAR;
  if (value === null) return value;
  if (depthLeft === 0 || "toJSON" in value) return UNCLEAR;
  if (Array.isArray(value)) return listInOrder(value, depthLeft);
  if (Object.getPrototypeOf(value) !== Object.prototype) return UNCLEAR;
  return objectInOrder(value as Readonly<Record<string, unknown>>, depthLeft);
}

/** By index: a list with gaps is not clear. */
function listInOrder(list: readonly unknown[], depthLeft: number): unknown {
  let copy: unknown[] | null = null;
  for (let index = 0; index < list.length; index += 1) {
    const member = inOrder(list[index], depthLeft - 1);
    if (member === UNCLEAR) return UNCLEAR;
    if (member !== list[index]) copy ??= list.slice(0, index);
    copy?.push(member);
  }
  return copy ?? list;
}

/** Most objects are in order, so one is copied only from the first member on that is not. */
function objectInOrder(given: Readonly<Record<string, unknown>>, depthLeft: number): unknown {
  const names = Object.keys(given);
  let made: Record<string, unknown> | null = null;
  if (!isSorted(names)) {
    // An object keeps its names in the order in which they were added, apart from these.
    if (names.some((name) => /^\d/.test(name))) return UNCLEAR;
    names.sort();
    made = {};
  }
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    if (name === "__proto__" || !name.isWellFormed()) return UNCLEAR;
    const before = given[name];
    const member = before === undefined ? before : inOrder(before, depthLeft - 1);
    if (member === UNCLEAR) return UNCLEAR;
    if (member !== before && made === null) {
      made = {};
      for (const earlier of names.slice(0, index)) made[earlier] = given[earlier];
    }
    if (made !== null) made[name] = member;
  }
  return made ?? given;
}

function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index += 1) {
    if ((names[index - 1] as string) >= (names[index] as string)) return false;
  }
  return true;
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
export const sha256 = (content: string | Uint8Array): string => hash("sha256", content);

export const digestOf = (value: Json): string => sha256(canonical(value));

/** Of half the time of quality 4, and a few percent more bytes. */
const QUALITY = 2;

/** `quality`: of Brotli. */
export function compress(content: string | Uint8Array, quality = QUALITY): Uint8Array {
  const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
  if (typeof content === "string" && bytes.byteLength !== Buffer.byteLength(content))
    throw new TypeError("the bytes of a text are not whole: a function of the language does not work");
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: quality,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
  };
  // In one piece: the buffer of a piece is not returned to the system before a collection, whatever it holds.
  const chunkSize = Math.max(CHUNK_BYTES_MIN, Math.min(bytes.byteLength, Math.max(PIECE_BYTES, bytes.byteLength / 2)));
  return brotliCompressSync(bytes, { params, chunkSize: Math.ceil(chunkSize) });
}

const PIECE_BYTES = 16 * 1024;

const KNOWN_BYTES_MAX = 2 * 1024 * 1024;
const UNKNOWN_BYTES = 64 * 1024;
/** The least that zlib accepts. */
const CHUNK_BYTES_MIN = 64;

/** How much a text may have. `isKnown`: it has so much, so it arrives in one piece, and none is copied. */
interface Bound {
  readonly what: string;
  readonly bytesMax: number;
  readonly isKnown?: boolean;
}

/** Throws `Unreadable`, which names `what`, when the bytes are not Brotli or decompress to more than `bytesMax`. */
export function decompress(bytes: Uint8Array, bound: Bound): Buffer {
  try {
    return brotliDecompressSync(bytes, piecesOf(bound));
  } catch (error) {
    throw notBrotli(bound, error);
  }
}

/** One more than there is: zlib takes another piece when one is full. */
const piecesOf = ({ bytesMax, isKnown = bytesMax <= KNOWN_BYTES_MAX }: Bound) => ({
  maxOutputLength: bytesMax,
  chunkSize: isKnown ? Math.max(bytesMax + 1, CHUNK_BYTES_MIN) : UNKNOWN_BYTES,
});

const notBrotli = ({ what }: Bound, error: unknown): Unreadable =>
  new Unreadable(`${what} cannot be decompressed: ${error instanceof Error ? error.message : String(error)}`);

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
