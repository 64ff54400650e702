/** The files that a transcript names, and those that the result of a run carries. */
import type { ReplyPart } from "./event.ts";
import { type FileRef, shortName } from "./file.ts";
import type { Json } from "./json.ts";
import type { Message, Part } from "./message.ts";

const NONE: readonly FileRef[] = [];

/** The files of one part: itself, or those that a call returned. */
export const filesOfPart = (part: Part | ReplyPart): readonly FileRef[] =>
  part.kind === "file" ? [part] : part.kind === "result" ? (part.files ?? NONE) : NONE;

/** Adds the files that a message names, by digest, each once. */
export function addFilesOf(found: Map<string, FileRef>, { parts }: Message): void {
  for (const part of parts) for (const file of filesOfPart(part)) if (!found.has(file.file)) found.set(file.file, file);
}

/** The files that these messages name, in order, each once. */
export function filesOf(messages: readonly Message[]): readonly FileRef[] {
  const found = new Map<string, FileRef>();
  for (const message of messages) addFilesOf(found, message);
  return [...found.values()];
}

/** How many files a result carries at most. */
const RESULT_FILES_MAX = 8;

/**
 * The files that a result carries: those that the model made in its last reply, and those whose digest the result names,
 * in full or as tools and models read it.
 */
export function filesOfResult(messages: readonly Message[], result: Json): readonly FileRef[] {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const last = messages.findLast(({ role }) => role === "assistant");
  const made = new Set((last?.parts ?? []).flatMap(filesOfPart).map(({ file }) => file));
  const carried = filesOf(messages).filter((each) => made.has(each.file) || text.includes(shortName(each)));
  return carried.slice(-RESULT_FILES_MAX);
}
