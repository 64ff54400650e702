/**
 * Values of unknown origin: what a tool returned, what a model sent. They become JSON or a reason why not, and large
 * ones become blobs with a preview.
 */
import type { Json } from "../core/json.ts";
import { SIZES } from "./limits.ts";
import { type Value, inline } from "../core/message.ts";
import { canonical, compress, decompress, sha256, Unreadable } from "./canonical.ts";
import { toJson } from "./to-json.ts";

export type Parsed = { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly why: string };

/**
 * A value as JSON that reads the same, or why there is none: the one boundary for whatever tools, models and users hand
 * over. What passes is bounded in depth and size and has a canonical form, so no later step can fail over it. The rule
 * for what JSON cannot say is that of `to-json.ts`. Never throws.
 */
export function asJson(value: unknown): Parsed {
  const converted = toJson(value);
  if (converted.kind === "json") return { ok: true, json: converted.json };
  if (converted.kind === "refused") return { ok: false, why: converted.why };
  const { thrown, at } = converted;
  return { ok: false, why: `reading it threw${at}: ${sentenceOf(thrown).split("\n")[0] ?? ""}` };
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

/** Whether an error of that name was thrown. By name: an agent may have another copy of the class. Never throws. */
export function isErrorNamed(thrown: unknown, name: string): boolean {
  try {
    return thrown instanceof Error && thrown.name === name;
  } catch {
    // A revoked proxy cannot even be asked what it is.
    return false;
  }
}

/** Where an error was thrown; null for anything else. Never throws. */
export function stackOf(thrown: unknown): string | null {
  try {
    return thrown instanceof Error && typeof thrown.stack === "string" ? thrown.stack : null;
  } catch {
    return null;
  }
}

/** Any thrown thing as a bounded sentence. Never throws, whatever it is. */
export function sentenceOf(error: unknown): string {
  try {
    const words = error instanceof Error ? String(error.message || error.name) : String(error);
    return (
      bounded(words === "[object Object]" && !(error instanceof Error) ? JSON.stringify(error) : words) || WORDLESS
    );
  } catch {
    return WORDLESS;
  }
}

const WORDLESS = "something was thrown that has no words";

export const bounded = (text: string, charactersMax: number = SIZES.errorCharactersMax): string =>
  (text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`).toWellFormed();
