/** `cairn file RUN FILE`: writes a file of a run to disk. It never replaces a file. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Unreadable } from "../../codec/canonical.ts";
import { fileJson } from "../../codec/file.ts";
import { OPERATIONS } from "../../operations/table.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { refusedAs, unlessRunGone } from "../perform.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { grouped } from "../../render/words.ts";
import { alreadyThere, unwritable } from "./export.ts";
import { transportToRun } from "../choose-transport.ts";

export interface FileFlags extends StoreFlags {
  readonly out?: string;
}

export async function writeFileOf(
  shell: Shell,
  typed: { readonly run: string; readonly file: string; readonly flags: FileFlags },
): Promise<number> {
  const { transport, run } = await transportToRun(shell, typed);
  const { command } = transport;
  const given = { run, file: typed.file };
  const outcome = await transport.perform("file", given);
  const found = unlessRunGone(transport, { run, outcome });
  if (found.kind === "fileUnknown") {
    const why = "a file is named by its digest, at least 8 characters of it, or by its name if no other file has it";
    throw refusedAs(OPERATIONS.file, "fileUnknown", {
      what: `run ${run} has no single file ${typed.file}`,
      why,
      next: command("show", run),
      facts: { run },
    });
  }
  const bytes = await found.read().catch((cause: unknown) => {
    if (!(cause instanceof Unreadable)) throw cause;
    const what = `the file cannot be read: ${cause.message}`;
    const why = "the store lost it, or it was changed";
    throw new UserError({ code: cause.code, exit: EXIT.failed, what, why, next: command("verify", run) }, { cause });
  });
  const { out = found.file.name } = typed.flags;
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
