/**
 * Files of a run: images, documents, anything that is no JSON. A run keeps only a reference; the bytes are an object
 * beside it, named by their digest and put before the commit that names them. So a transcript stays small, and a row
 * never names a file that is not there.
 */

/** A reference to a file. `file`: the SHA-256 digest (hex) of its bytes. */
export interface FileRef {
  readonly kind: "file";
  readonly file: string;
  /** A full IANA media type, such as `image/png`. */
  readonly mediaType: string;
  readonly bytes: number;
  readonly name: string;
}

/** A checked file: its reference, and its bytes. */
export interface FileContent {
  readonly ref: FileRef;
  readonly bytes: Uint8Array;
}

/** A field that holds files; absent without any. */
export interface WithFiles {
  readonly files?: readonly FileRef[];
}

/** The field for these files, to spread. */
export const withFiles = (files: readonly FileRef[] | undefined): WithFiles =>
  files === undefined || files.length === 0 ? {} : { files };

/** How many characters of a digest name a file where people and models read it. */
const SHORT_CHARACTERS = 16;

/** The beginning of the digest. It names the file within its run. */
export const shortName = ({ file }: Pick<FileRef, "file">): string => file.slice(0, SHORT_CHARACTERS);

/** The file whose digest begins with `name`, or that alone has this name; null if there is none, or more than one. */
export function fileNamed(files: readonly FileRef[], name: string): FileRef | null {
  const byDigest = /^[0-9a-f]{8,64}$/.test(name) ? files.filter(({ file }) => file.startsWith(name)) : [];
  // A Mac spells an é with two characters (NFD), where most keyboards and models write one (NFC).
  const same = name.normalize("NFC");
  const found = byDigest.length > 0 ? byDigest : files.filter((each) => each.name.normalize("NFC") === same);
  return found.length === 1 ? (found[0] ?? null) : null;
}
