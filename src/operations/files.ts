/** Files that come with a start or a message, and files of a run that are read back. */
import * as z from "zod";
import { type FileContent, type FileRef, fileNamed } from "../core/file.ts";
import { NO_BASE64, type SentFile, isBase64, type GivenFile, fileContent, wrongWithFiles } from "../codec/file.ts";
import { servedAs } from "../codec/media-types.ts";
import { SIZES } from "../codec/limits.ts";
import { filesOf } from "../core/files-in.ts";
import type { Row } from "../protocol/row.ts";
import type { World } from "../ports/world.ts";
import { unlessGone } from "../history/damage.ts";
import { respond } from "./operation.ts";
import { readFile } from "../history/files.ts";
import { SegmentCache } from "../history/load.ts";
import { fileKey } from "../history/object-keys.ts";
import { loadVouched } from "../history/vouch.ts";

/** A file in an input. */
const sentFile: z.ZodType<SentFile> = z.strictObject({
  name: z.string(),
  mediaType: z.string().exactOptional(),
  base64: z.string().refine(isBase64, NO_BASE64),
});

/** The files of an input: none by default. */
export const sentFiles = z.array(sentFile).max(SIZES.filesMax).default([]);

/** A file of an input is not accepted; `why` names it. */
export interface FileInvalid {
  readonly kind: "fileInvalid";
  readonly why: string;
}

export const FILE_INVALID = respond.invalid("FileInvalid", "A file is not accepted.");

/** The checked files of an input, or what is wrong with one of them. */
export type Contents =
  | { readonly ok: true; readonly contents: readonly FileContent[] }
  | { readonly ok: false; readonly why: string };

export const contentsOf = (sent: readonly SentFile[]): Contents =>
  checkedFiles(sent.map(({ base64, ...of }) => ({ ...of, bytes: Buffer.from(base64, "base64") })));

/** Checks files that were given together. The same bytes twice are one file. */
export function checkedFiles(given: readonly GivenFile[]): Contents {
  const contents = new Map<string, FileContent>();
  for (const each of given) {
    const parsed = fileContent(each);
    if (!parsed.ok) return { ok: false, why: `${each.name ?? "a file"}: ${parsed.why}` };
    contents.set(parsed.content.ref.file, parsed.content);
  }
  const all = [...contents.values()];
  const why = wrongWithFiles(all);
  return why === null ? { ok: true, contents: all } : { ok: false, why };
}

/** Why the run has no room for these files; null if it has. */
export async function noRoomFor(world: World, row: Row, contents: readonly FileContent[]): Promise<string | null> {
  const { state } = await loadVouched(world, row, new SegmentCache());
  const all = [...filesOf(state.messages), ...contents.map(({ ref }) => ref)];
  const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
  return bytes <= SIZES.runFilesBytesMax
    ? null
    : `the files of the run would have ${bytes} bytes; at most ${SIZES.runFilesBytesMax} are accepted`;
}

/** How long an address of a file works. */
const LINK_SECONDS = 300;

const savedLike = ({ name, mediaType }: FileRef) => ({ fileName: name, contentType: servedAs(mediaType) });

/** A file that was found. */
export interface FoundFile {
  readonly kind: "found";
  readonly file: FileRef;
  readonly read: () => Promise<Uint8Array>;
  /** An address that hands it out; null where the store has none. */
  readonly link: () => Promise<string | null>;
}

export type FileFound = FoundFile | { readonly kind: "missing" } | { readonly kind: "fileUnknown" };

/** The file of a run with that digest, a beginning of it, or that name. */
export async function findFile(
  world: World,
  wanted: { readonly run: string; readonly file: string; readonly row?: Row | undefined },
): Promise<FileFound> {
  const row = wanted.row ?? (await world.table.read(wanted.run, world.clock.now()));
  if (row === null) return { kind: "missing" };
  const loaded = await unlessGone(world, row, () => loadVouched(world, row, new SegmentCache()));
  if (loaded === null) return { kind: "missing" };
  const file = fileNamed(filesOf(loaded.state.messages), wanted.file);
  if (file === null) return { kind: "fileUnknown" };
  return {
    kind: "found",
    file,
    read: () => readFile(world.objects, row, file.file),
    link: async () =>
      (await world.links?.linkTo(fileKey(row, file.file), { seconds: LINK_SECONDS, ...savedLike(file) })) ?? null,
  };
}
