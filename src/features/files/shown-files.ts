/**
 * The files that a request shows to the model: the newest ones that fit together. The choice depends only on the
 * transcript, so a resumed run shows the same files as the process that died.
 */
import { type FileRef } from "../../core/file.ts";
import { addFilesOf } from "../../core/files-in.ts";
import type { Message } from "../../core/message.ts";
import { BytesMap } from "../../codec/bytes-map.ts";
import { prefixMemo } from "../../codec/prefix-memo.ts";
import { SIZES } from "../../codec/limits.ts";
import { readFile } from "../../history/files.ts";
import type { ActiveRun } from "../../engine/context/active-run.ts";

/** By digest, as base64: an adapter cannot change it, and providers send it so. Throws `Unreadable`. */
export async function filesToShow(run: ActiveRun, messages: readonly Message[]): Promise<ReadonlyMap<string, string>> {
  const { world, row } = run;
  const shown = new Map<string, string>();
  for (const { file } of newest([...filesIn(messages).values()])) {
    const known = cached.get(file) ?? Buffer.from(await readFile(world.objects, row, file)).toString("base64");
    cached.set(file, known, known.length);
    shown.set(file, known);
  }
  return shown;
}

/** Each request asks for the files of the whole transcript, and only its new messages are read. */
const filesIn = prefixMemo({
  start: () => new Map<string, FileRef>(),
  copy: (files) => new Map(files),
  add: addFilesOf,
});

function newest(files: readonly FileRef[]): readonly FileRef[] {
  let bytes = 0;
  const first = files.findLastIndex((each) => (bytes += each.bytes) > SIZES.requestFilesBytesMax);
  return files.slice(first + 1);
}

/** What the last requests of this process showed. The digest is the content, so no run sees another's. */
const cached = new BytesMap<string>(2 * SIZES.requestFilesBytesMax);
