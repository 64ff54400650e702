/** The files of a run as its views show them. */
import { type FileRef } from "../core/file.ts";
import { filesOfPart } from "../core/files-in.ts";
import type { State } from "../core/state.ts";

/** A file of a run. `file`: the SHA-256 digest of its bytes. */
export interface ShownFile extends Omit<FileRef, "kind"> {
  /** Who gave it: `task`, `user:NAME`, `tool:NAME` or `model:NAME`. */
  readonly source: string;
  /** The result carries it. */
  readonly inResult: boolean;
}

/** Each file once, with its first source. */
export function shownFiles({
  messages,
  resultFiles = [],
}: Pick<State, "messages" | "resultFiles">): readonly ShownFile[] {
  const found = new Map<string, ShownFile>();
  for (const { source, parts } of messages) {
    for (const { file, mediaType, bytes, name } of parts.flatMap(filesOfPart)) {
      const inResult = resultFiles.some((each) => each.file === file);
      if (!found.has(file)) found.set(file, { file, mediaType, bytes, name, source, inResult });
    }
  }
  return [...found.values()];
}
