/**
 * The boundary for files of unknown origin: a user, a tool or a model gives bytes, and a name and a media type that may
 * be wrong. A file is bounded, its type is checked against its first bytes, and its name cannot leave a folder.
 */
import type { FileContent, FileRef } from "../core/file.ts";
import type { Json } from "../core/json.ts";
import { SIZES } from "./limits.ts";
import { digestOf, sha256, Unreadable } from "./canonical.ts";
import { EXTENSIONS, MAGIC_TYPES, sniffed } from "./media-types.ts";

/** A file as somebody gives it. */
export interface GivenFile {
  readonly bytes: Uint8Array;
  /** Absent: `file`. */
  readonly name?: string | undefined;
  /** Absent: what its first bytes and its name say. */
  readonly mediaType?: string | undefined;
}

export type ParsedFile =
  | { readonly ok: true; readonly content: FileContent }
  | { readonly ok: false; readonly why: string };

/** A file in a request. */
export interface SentFile {
  readonly name: string;
  readonly mediaType?: string;
  readonly base64: string;
}

/** Characters that base64 does not have. A pattern for the whole text would fail on a text of megabytes. */
const STRANGE = /[^A-Za-z0-9+/]/;

export const isBase64 = (text: string): boolean => text.length % 4 === 0 && !STRANGE.test(text.replace(/={1,2}$/, ""));

export const NO_BASE64 = "it is not base64";

/** A value with this member stands for a file. By a global name, since an agent may load another copy of cairn. */
export const FILE: unique symbol = Symbol.for("cairn.file") as never;

/** Checks a file. The bytes are copied, since the giver may change them later. */
export function fileContent({ bytes: given, name: said, mediaType }: GivenFile): ParsedFile {
  const refused = (why: string): ParsedFile => ({ ok: false, why });
  if (!(given instanceof Uint8Array)) return refused("a file needs its bytes as a Uint8Array");
  if (given.byteLength === 0) return refused("the file is empty");
  if (given.byteLength > SIZES.fileBytesMax)
    return refused(`the file has ${given.byteLength} bytes; at most ${SIZES.fileBytesMax} are accepted`);
  const bytes = Uint8Array.from(given);
  const name = nameOf(said);
  const type = typeOf(bytes, { name, declared: mediaType });
  if (type === null) return refused(`${JSON.stringify(mediaType)} is not a media type such as image/png`);
  const { declared, found } = type;
  if (declared !== found && MAGIC_TYPES.has(declared))
    return refused(`the file ${name} is no ${declared}: its first bytes are those of ${found ?? "something else"}`);
  // What the bytes say counts: a page that calls itself an image is none.
  const own = found !== null && MAGIC_TYPES.has(found) ? found : declared;
  const ref = { kind: "file", file: sha256(bytes), mediaType: own, bytes: bytes.byteLength, name } as const;
  return { ok: true, content: { ref, bytes } };
}

/** Why these files are too many or too large together; null if they are not. */
export function wrongWithFiles(contents: readonly FileContent[]): string | null {
  if (contents.length > SIZES.filesMax)
    return `${contents.length} files; at most ${SIZES.filesMax} are accepted at once`;
  const bytes = contents.reduce((sum, { ref }) => sum + ref.bytes, 0);
  if (bytes <= SIZES.filesBytesMax) return null;
  return `the files have ${bytes} bytes together; at most ${SIZES.filesBytesMax} are accepted at once`;
}

/** The digest of what a run is started with. The names of files do not count, only their bytes. */
export const inputDigestOf = (task: Json, files: readonly FileRef[]): string =>
  files.length === 0 ? digestOf(task) : digestOf([task, files.map(({ file }) => file).toSorted(compare)]);

/** The bytes of a stored file. Throws `Unreadable` when they do not match the digest. */
export function checkedFile(file: string, bytes: Uint8Array): Uint8Array {
  if (sha256(bytes) !== file) throw new Unreadable(`file ${file} does not match the digest in its name`);
  return bytes;
}

/**
 * The digests of all files that a stored value or event references. It does not look inside inline values and provider
 * metadata: tools and providers write that JSON, and it may look like a reference by accident.
 */
export function filesIn(stored: unknown): readonly string[] {
  if (typeof stored !== "object" || stored === null) return [];
  if (Array.isArray(stored)) return stored.flatMap(filesIn);
  const { kind, file } = stored as { readonly kind?: unknown; readonly file?: unknown };
  if (kind === "inline" || kind === "blob") return [];
  if (kind === "file") return typeof file === "string" ? [file] : [];
  return Object.entries(stored).flatMap(([name, each]) =>
    name === "provider" || name === "before" ? [] : filesIn(each),
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** A reference as JSON, where a tool returned the file or a program reads it. */
export const fileJson = ({ file, mediaType, bytes, name }: FileRef) => ({ file, mediaType, bytes, name });

/** The last part of a path, in Unicode's form C, without characters that a terminal or a header would act on. */
function nameOf(said = ""): string {
  const last = (String(said).split(/[/\\]/).at(-1) ?? "").normalize("NFC");
  // oxlint-disable-next-line no-control-regex -- they are what must not be in a name
  const plain = last.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069"]/g, "").trim();
  const name = plain.slice(0, SIZES.fileNameCharactersMax).toWellFormed();
  return name === "" || name === "." || name === ".." ? "file" : name;
}

/** The declared type, or what follows from bytes and name, and what the first bytes say. Null: it is no media type. */
function typeOf(
  bytes: Uint8Array,
  { name, declared }: { readonly name: string; readonly declared: string | undefined },
): { readonly declared: string; readonly found: string | null } | null {
  const found = sniffed(bytes);
  if (declared === undefined) return { declared: found ?? guessed(bytes, name), found };
  const [plain = ""] = declared.toLowerCase().split(";");
  const type = plain.trim() === "image/jpg" ? "image/jpeg" : plain.trim();
  return TYPE.test(type) && type.length <= SIZES.mediaTypeCharactersMax ? { declared: type, found } : null;
}

const TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/;

function guessed(bytes: Uint8Array, name: string): string {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(name)?.[1]?.toLowerCase() ?? "";
  return EXTENSIONS[extension] ?? (isText(bytes) ? "text/plain" : "application/octet-stream");
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
