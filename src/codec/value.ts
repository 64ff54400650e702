/**
 * Values of unknown origin: what a tool returned, what a model sent. They become JSON or a reason why not, and large
 * ones become blobs with a preview.
 */
import type { Json } from "../core/json.ts";
import { SIZES } from "./limits.ts";
import { type Value, inline } from "../core/message.ts";
import { canonical, compress, decompress, sha256, Unreadable } from "./canonical.ts";

export type Parsed = { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly why: string };

/** A value as JSON, as `JSON.stringify` sees it; refused where that would lose something without a word. */
export function asJson(value: unknown): Parsed {
  if (value === undefined) return { ok: true, json: null };
  try {
    const text = JSON.stringify(value, strict);
    if (text === undefined) return { ok: false, why: `${article(value)} is not JSON` };
    if (text.length > SIZES.blobBytesMax) {
      return { ok: false, why: `it has ${text.length} characters as JSON, ${SIZES.blobBytesMax} are kept at most` };
    }
    return { ok: true, json: JSON.parse(text) as Json };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error) };
  }
}

/** What `JSON.stringify` would make an empty object or a list of bytes of. */
const LOSSY = [Map, Set, WeakMap, WeakSet, Promise, Error, RegExp, ArrayBuffer] as const;

function strict(this: unknown, name: string, value: unknown): unknown {
  const at = name === "" ? "" : ` at ${JSON.stringify(name)}`;
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`${value} is not JSON${at}`);
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
    throw new TypeError(`${article(value)} is not JSON${at}`);
  }
  // As it was before its own toJSON: a Buffer has one.
  const given: unknown = Reflect.get(Object(this), name);
  if (ArrayBuffer.isView(given) || LOSSY.some((kind) => given instanceof kind)) {
    throw new TypeError(`${article(given)} is not JSON${at}`);
  }
  if (typeof value === "object" && value !== null && !Object.keys(value).every((key) => key.isWellFormed())) {
    throw new TypeError(`a name is no well-formed text${at}`);
  }
  return typeof value === "string" ? value.toWellFormed() : value;
}

function article(value: unknown): string {
  const name = typeof value === "object" && value !== null ? (value.constructor?.name ?? "object") : typeof value;
  return `${/^[aeiou]/i.test(name) ? "an" : "a"} ${name}`;
}

export interface Blob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The value to keep, and the blob to store before it where it is larger than `inlineMax` bytes. */
export function toValue(
  json: Json,
  inlineMax: number = SIZES.inlineBytesMax,
): { readonly value: Value; readonly blob: Blob | null } {
  const text = canonical(json);
  const bytes = Buffer.byteLength(text, "utf8");
  if (bytes <= inlineMax) return { value: inline(json), blob: null };
  const digest = sha256(text);
  // A character takes four bytes at most, and the preview must not be larger than what it stands for.
  const preview = Math.min(SIZES.previewCharacters, Math.floor(inlineMax / 8));
  const shown = typeof json === "string" ? json : text;
  const value: Value = {
    kind: "blob",
    sha256: digest,
    bytes,
    head: shown.slice(0, preview).toWellFormed(),
    tail: shown.slice(-preview).toWellFormed(),
  };
  return { value, blob: { sha256: digest, bytes: compress(text) } };
}

/** The JSON of a stored blob; throws `Unreadable` when the bytes are not those that were stored. */
export const fromBlob = (digest: string, bytes: Uint8Array): Json => JSON.parse(blobText(digest, bytes)) as Json;

/** The same as its canonical text. */
export function blobText(digest: string, bytes: Uint8Array): string {
  const text = decompress(bytes, { what: `blob ${digest}`, bytesMax: 4 * SIZES.blobBytesMax }).toString("utf8");
  if (sha256(text) !== digest) throw new Unreadable(`blob ${digest} has other content than its name says`);
  return text;
}

/**
 * The digests of the blobs that a stored thing names. An inline value and a provider's metadata are somebody else's
 * JSON, which may look like anything.
 */
export function blobsIn(stored: unknown): readonly string[] {
  if (typeof stored !== "object" || stored === null) return [];
  if (Array.isArray(stored)) return stored.flatMap(blobsIn);
  const { kind, sha256: digest } = stored as { readonly kind?: unknown; readonly sha256?: unknown };
  if (kind === "inline") return [];
  if (kind === "blob") return typeof digest === "string" ? [digest] : [];
  return Object.entries(stored).flatMap(([name, each]) => (name === "provider" ? [] : blobsIn(each)));
}

/** Any thrown thing as a bounded sentence. */
export function sentenceOf(error: unknown): string {
  try {
    if (error instanceof Error) return bounded(String(error.message || error.name));
    const words = String(error);
    return bounded(words === "[object Object]" ? JSON.stringify(error) : words);
  } catch {
    return "something was thrown that has no words";
  }
}

export const bounded = (text: string, charactersMax: number = SIZES.errorCharactersMax): string =>
  (text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`).toWellFormed();
