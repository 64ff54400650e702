/** Reads a file that `cairn export` wrote. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Archive, readArchive } from "../codec/archive.ts";
import { Unreadable } from "../codec/canonical.ts";
import { type Recording, recordingOf } from "../features/archive/recording.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import type { Shell } from "./shell.ts";
import { commandLine } from "../render/words.ts";

/** Whether the text names a file. A run ID never contains a dot or a slash. */
export const isFile = (text: string): boolean => /[./\\]/.test(text);

/** Reads and checks an export. Throws a `UserError` if the file is missing or incomplete. */
export function readExport(shell: Shell, text: string): Archive {
  const file = resolve(shell.cwd, text);
  const bytes = bytesOf(file);
  try {
    return readArchive(bytes);
  } catch (error) {
    throw error instanceof Unreadable ? unreplayable(error, file) : error;
  }
}

/** The recorded history in an export, ready to be replayed. */
export function recordingFrom(
  shell: Shell,
  { archive, file }: { readonly archive: Archive; readonly file: string },
): Recording {
  try {
    return recordingOf(archive);
  } catch (error) {
    throw error instanceof Unreadable ? unreplayable(error, resolve(shell.cwd, file)) : error;
  }
}

function bytesOf(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const next = commandLine(["export", "RUN"]);
    throw new UserError(
      { code: "FileUnreadable", exit: EXIT.notFound, what: `${file} cannot be read`, why, next },
      { cause },
    );
  }
}

function unreplayable(cause: Unreadable, file: string): UserError {
  const what = `${file} is not a complete export`;
  const next = commandLine(["export", "RUN"]);
  return new UserError({ code: cause.code, exit: EXIT.failed, what, why: cause.message, next }, { cause });
}
