/** The files of a run as objects: put before the commit that names them, and read by their digests. */
import { Unreadable } from "../codec/canonical.ts";
import type { FileContent } from "../core/file.ts";
import { checkedFile } from "../codec/file.ts";
import type { Incarnation } from "../protocol/row.ts";
import type { ObjectStore } from "../ports/object-store.ts";
import { resolveAmbiguousPut } from "./resolve-ambiguous-write.ts";
import { fileKey } from "./object-keys.ts";

/** Puts files. Their keys are content-addressed: an existing object has the same bytes, whoever put it. */
export async function putFiles(
  objects: ObjectStore,
  incarnation: Incarnation,
  contents: readonly FileContent[],
): Promise<void> {
  for (const { ref, bytes } of contents)
    await resolveAmbiguousPut(() => objects.put(fileKey(incarnation, ref.file), bytes));
}

/** The bytes of a file. Throws `Unreadable` if it is missing or does not match its digest. */
export async function readFile(objects: ObjectStore, incarnation: Incarnation, file: string): Promise<Uint8Array> {
  const bytes = await objects.get(fileKey(incarnation, file));
  if (bytes === null) throw new Unreadable(`file ${file} is missing`, "FileMissing");
  return checkedFile(file, bytes);
}
