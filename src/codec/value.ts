/**
 * The boundary for values of unknown origin, such as a tool's result or a model's arguments. A value becomes JSON or a
 * reason for its refusal; a large value becomes a blob with a preview.
 */
import type { Json } from "../core/json.ts";
import type { FileContent } from "../core/file.ts";
import { wrongWithFiles } from "./file.ts";
import { SIZES } from "./limits.ts";
import { type Value, inline } from "../core/message.ts";
import { canonical, compress, decompress, sha256, Unreadable } from "./canonical.ts";
import { toJson } from "./to-json.ts";

export type Parsed = { readonly ok: true; readonly json: Json } | { readonly ok: false; readonly why: string };

/**
 * Converts a value from a tool, model or user to JSON that reads the same, or says why it cannot. Never throws.
 * A converted value is bounded in depth and size and has a canonical form, so no later step can fail because of it.
 * `to-json.ts` has the rules for values that JSON cannot express.
 */
export const asJson = (value: unknown): Parsed => parse(value, null);

function parse(value: unknown, files: FileContent[] | null): Parsed {
  const converted = toJson(value, files);
  if (converted.kind === "json") return { ok: true, json: converted.json };
  if (converted.kind === "refused") return { ok: false, why: converted.why };
  const { thrown, at } = converted;
  return { ok: false, why: `reading it threw${at}: ${sentenceOf(thrown).split("\n")[0] ?? ""}` };
}

/** The same for a value with files in it. Each file stands once in the list. */
export function asJsonWithFiles(value: unknown): Parsed & { readonly files: readonly FileContent[] } {
  const found: FileContent[] = [];
  const parsed = parse(value, found);
  const files = [...new Map(found.map((each) => [each.ref.file, each])).values()];
  const why = parsed.ok ? wrongWithFiles(files) : null;
  return why === null ? { ...parsed, files } : { ok: false, why, files: [] };
}

export interface Blob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** The value to keep in state. A value of more than `inlineMax` bytes comes with a blob, which is stored first. */
export function toValue(
  json: Json,
  inlineMax: number = SIZES.inlineBytesMax,
): { readonly value: Value; readonly blob: Blob | null } {
  const text = canonical(json);
  const bytes = Buffer.byteLength(text, "utf8");
  if (bytes <= inlineMax) return { value: inline(json), blob: null };
  const digest = sha256(text);
  // Head and tail together must not be larger than the value: a character takes at most four bytes.
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

/** The JSON of a stored blob. Throws `Unreadable` when the bytes do not match the digest. */
export const fromBlob = (digest: string, bytes: Uint8Array): Json => JSON.parse(blobText(digest, bytes)) as Json;

/** The canonical text of a stored blob. Throws `Unreadable` when the bytes do not match the digest. */
export function blobText(digest: string, bytes: Uint8Array): string {
  const text = decompress(bytes, { what: `blob ${digest}`, bytesMax: 4 * SIZES.blobBytesMax }).toString("utf8");
  if (sha256(text) !== digest) throw new Unreadable(`blob ${digest} does not match the digest in its name`);
  return text;
}

/**
 * The digests of all blobs that a stored value or event references. It does not look inside inline values and provider
 * metadata: tools and providers write that JSON, and it may look like a blob reference by accident.
 */
export function blobsIn(stored: unknown): readonly string[] {
  if (typeof stored !== "object" || stored === null) return [];
  if (Array.isArray(stored)) return stored.flatMap(blobsIn);
  const { kind, sha256: digest } = stored as { readonly kind?: unknown; readonly sha256?: unknown };
  if (kind === "inline") return [];
  if (kind === "blob") return typeof digest === "string" ? [digest] : [];
  return Object.entries(stored).flatMap(([name, each]) => (name === "provider" ? [] : blobsIn(each)));
}

/**
 * Whether `thrown` is an error with that name. By name, as an agent may load another copy of the class. Never throws.
 */
export function isErrorNamed(thrown: unknown, name: string): boolean {
  try {
    return thrown instanceof Error && thrown.name === name;
  } catch {
    // `instanceof` throws on a revoked proxy.
    return false;
  }
}

/** The stack of an error; null for anything else. Never throws. */
export function stackOf(thrown: unknown): string | null {
  try {
    return thrown instanceof Error && typeof thrown.stack === "string" ? thrown.stack : null;
  } catch {
    return null;
  }
}

/** Describes any thrown value in a bounded text. Never throws. */
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

const WORDLESS = "a value without a message was thrown";

export const bounded = (text: string, charactersMax: number = SIZES.errorCharactersMax): string =>
  (text.length <= charactersMax ? text : `${text.slice(0, charactersMax)}…`).toWellFormed();
