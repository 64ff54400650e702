/** `cairn file RUN FILE`: writes a file of a run to disk. It never replaces a file. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Unreadable } from "../../codec/canonical.ts";
import { fileJson } from "../../codec/file.ts";
import { performOperation } from "../../operations/perform.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { CliError, EXIT } from "../errors.ts";
import { contextOf, refusedAs, unlessGone } from "../perform.ts";
import { type Shell, type StoreFlags, printDocument } from "../shell.ts";
import { grouped } from "../render/words.ts";
import { alreadyThere, unwritable } from "./export.ts";
import { openRun } from "./runs.ts";

export interface FileFlags extends StoreFlags {
  readonly out?: string;
}

export async function writeFileOf(
  shell: Shell,
  of: { readonly run: string; readonly file: string; readonly flags: FileFlags },
): Promise<number> {
  const { opened, run } = await openRun(shell, of);
  const { command } = opened.settings;
  const given = { run, file: of.file };
  const outcome = await performOperation(OPERATIONS.file, contextOf(shell, opened), given);
  const found = unlessGone(opened, { run, outcome });
  if (found.kind === "fileUnknown") {
    const why = "a file is named by its digest, at least 8 characters of it, or by its name if no other file has it";
    throw refusedAs(OPERATIONS.file, "fileUnknown", {
      ...{ what: `run ${run} has no single file ${of.file}`, why, next: command("show", run) },
      facts: { run },
    });
  }
  const bytes = await found.read().catch((cause: unknown) => {
    if (!(cause instanceof Unreadable)) throw cause;
    const what = `the file cannot be read: ${cause.message}`;
    const why = "the store lost it, or it was changed";
    throw new CliError({ code: cause.code, exit: EXIT.failed, what, why, next: command("verify", run) }, { cause });
  });
  const { out = found.file.name } = of.flags;
  const path = resolve(shell.cwd, out);
  writeNew(shell, path, bytes);
  const { name, mediaType } = found.file;
  if (shell.json) printDocument(shell, { run, ...fileJson(found.file), path });
  else
    shell.terminal.out(
      `${shell.terminal.paintOut("bold", path)}  ${name}, ${mediaType}, ${grouped(bytes.byteLength)} bytes`,
    );
  return EXIT.done;
}

function writeNew(shell: Shell, path: string, bytes: Uint8Array): void {
  try {
    writeFileSync(path, bytes, { flag: "wx" });
  } catch (cause) {
    const isThere = (cause as { readonly code?: unknown } | null)?.code === "EEXIST";
    throw isThere ? alreadyThere(shell, path, "ANOTHER") : unwritable(shell, { file: path, cause, instead: "ANOTHER" });
  }
}
