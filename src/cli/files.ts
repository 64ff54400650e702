/** Files that a user names on the command line, for a task or a message. */
import { readFileSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { SIZES } from "../codec/limits.ts";
import type { SentFile } from "../codec/file.ts";
import type { AnyOperation } from "../operations/operation.ts";
import { UserError, EXIT } from "../compose/user-error.ts";
import { retyped } from "../render/words.ts";
import { refusedAs } from "./perform.ts";
import type { Shell } from "./shell.ts";

/** Reads the files. The size is checked first, so that a wrong path to a huge file is not read. */
export function readFiles(shell: Shell, paths: readonly string[] = []): SentFile[] {
  if (paths.length > SIZES.filesMax) {
    throw unusable(shell, {
      what: `${paths.length} files are too many`,
      why: `at most ${SIZES.filesMax} are accepted`,
    });
  }
  return paths.map((path) => {
    const file = resolve(shell.cwd, path);
    const bytes = read(shell, file);
    return { name: basename(file), base64: bytes.toString("base64") };
  });
}

function read(shell: Shell, file: string): Buffer {
  try {
    const { size } = statSync(file);
    if (size <= SIZES.fileBytesMax) return readFileSync(file);
    const what = `${file} has ${size} bytes`;
    throw unusable(shell, { what, why: `a file has ${SIZES.fileBytesMax} bytes at most` });
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw unusable(shell, { what: `${file} cannot be read`, why, cause });
  }
}

const unusable = (
  shell: Shell,
  { what, why, cause }: { readonly what: string; readonly why: string; readonly cause?: unknown },
): UserError =>
  new UserError(
    { code: "FileUnreadable", exit: EXIT.usage, what, why, next: retyped(shell, "--file", "PATH") },
    { cause },
  );

/** The error for a file that cairn does not accept. */
export const fileRefused = (shell: Shell, operation: Pick<AnyOperation, "outcomes">, why: string): UserError =>
  refusedAs(operation, "fileInvalid", { what: "a file is not accepted", why, next: retyped(shell, "--file", "PATH") });
