/** Renders files as words: their names, types and sizes. */
import type { ReplyPart } from "../core/event.ts";
import { type FileRef, shortName } from "../core/file.ts";
import type { Shown } from "../operations/views.ts";
import { count, grouped } from "./words.ts";

/** A size for people. */
function sizeWords(bytes: number): string {
  if (bytes < 1024) return count(bytes, "byte");
  return bytes < 1024 ** 2 ? `${grouped(Math.round(bytes / 1024))} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

const fileWords = ({ name, mediaType, bytes }: Pick<FileRef, "name" | "mediaType" | "bytes">): string =>
  `${name} (${mediaType}, ${sizeWords(bytes)})`;

/** What to add to a line about something with these files; empty without any. */
export const filesWords = (files: readonly FileRef[] = []): string =>
  files.length === 0 ? "" : `, with ${files.map(fileWords).join(", ")}`;

export const filesMadeWords = (parts: readonly ReplyPart[]): string =>
  filesWords(parts.filter((part) => part.kind === "file"));

/** One line per file, for `show`: what it is, who gave it, and the name by which `cairn file` writes it. */
export const filesInWords = ({ files }: Pick<Shown, "files">): readonly (readonly [string, string])[] =>
  files.map((each) => [
    each.inResult ? "result file" : "file",
    `${shortName(each)}  ${fileWords(each)}, from ${each.source}`,
  ]);
