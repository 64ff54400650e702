/**
 * `cairn export RUN`: writes a run to one file. It writes to a temporary name, and renames the file when it is
 * complete. So an interrupted export never leaves a partial file under the final name.
 */
import { existsSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { member } from "../../codec/archive-bytes.ts";
import { Unreadable } from "../../codec/canonical.ts";
import type { Exported } from "../../features/archive/export.ts";
import { UserError, EXIT } from "../../compose/user-error.ts";
import { isShortage } from "../errors.ts";
import { unlessRunGone } from "../perform.ts";
import type { StoreFlags } from "../../compose/surroundings.ts";
import { type Shell, printDocument } from "../shell.ts";
import { tellSteps } from "../progress.ts";
import { commandLine, count, grouped, retyped } from "../../render/words.ts";
import { transportToReadRun } from "../choose-transport.ts";
import type { Transport } from "../transport.ts";

export interface ExportFlags extends StoreFlags {
  readonly out?: string;
}

interface Asked {
  readonly run: string;
  readonly flags: ExportFlags;
}

export async function exportToFile(shell: Shell, asked: Asked): Promise<number> {
  const { transport, run } = await transportToReadRun(shell, asked);
  const { terminal } = shell;
  const { out = `${run}.jsonl.gz` } = asked.flags;
  if (out === "-") {
    await exported(shell, { transport, run, write: (chunk) => terminal.out(chunk.trimEnd()) });
    return EXIT.done;
  }
  const file = resolve(shell.cwd, out);
  const { found, bytes } = await writeExport(shell, { transport, run, file });
  const { digest, counts, leftOut } = found;
  const { agent, status, version } = found.run;
  if (shell.json) printDocument(shell, { run, agent, status, version, file, bytes, ...counts, leftOut, digest });
  else terminal.out(inWords(shell, { found, file, bytes }));
  return EXIT.done;
}

/** Writes the export of a run to `file`, an absolute path. */
export async function writeExport(
  shell: Shell,
  { transport, run, file }: { readonly transport: Transport; readonly run: string; readonly file: string },
): Promise<{ readonly found: Exported; readonly bytes: number }> {
  if (existsSync(file)) throw alreadyThere(shell, file);
  const part = `${file}.part-${process.pid}`;
  const handle = await open(part, "wx").catch((cause: unknown) => {
    throw unwritable(shell, { file, cause });
  });
  let bytes = 0;
  const write = async (chunk: string): Promise<void> => {
    const some = file.endsWith(".gz") ? member(chunk) : Buffer.from(chunk, "utf8");
    bytes += some.byteLength;
    await handle.writeFile(some).catch((cause: unknown) => {
      throw unwritable(shell, { file, cause });
    });
  };
  try {
    const found = await exported(shell, { transport, run, write });
    await handle.close();
    await rename(part, file);
    return { found, bytes };
  } catch (error) {
    await handle.close();
    await rm(part, { force: true });
    throw error;
  }
}

async function exported(
  shell: Shell,
  {
    transport,
    run,
    write,
  }: { readonly transport: Transport; readonly run: string; readonly write: (chunk: string) => void | Promise<void> },
): Promise<Exported> {
  const onStep = tellSteps(shell, { now: transport.now, what: `reading ${run}` });
  try {
    const outcome = await transport.perform("export", { run }, { write, onStep });
    return unlessRunGone(transport, { run, outcome }).exported;
  } catch (error) {
    const found = unreadableIn(error);
    if (found === null) throw error;
    const what = `run ${run} cannot be exported: ${found.says}`;
    const why = "an incomplete export would look complete to its reader, so cairn wrote nothing";
    const next = transport.command("verify", run);
    throw new UserError({ code: found.code, exit: EXIT.failed, what, why, next }, { cause: error });
  } finally {
    shell.terminal.waitFor(null);
  }
}

/** What of the stored data cannot be read, as the store or an API says it; null: the error is another one. */
function unreadableIn(error: unknown): { readonly code: string; readonly says: string } | null {
  if (error instanceof Unreadable) return { code: error.code, says: error.message };
  if (!(error instanceof UserError) || error.trouble.code !== "Unreadable") return null;
  return { code: error.trouble.code, says: error.trouble.what };
}

function inWords(
  { terminal }: Shell,
  { found, file, bytes }: { readonly found: Exported; readonly file: string; readonly bytes: number },
): string {
  const { run, counts, leftOut } = found;
  const held = [
    count(counts.commits, "commit"),
    count(counts.marks, "snapshot"),
    count(counts.messages, "message"),
    count(counts.calls, "call"),
    count(counts.blobs, "blob"),
  ];
  const live =
    run.endedAt === null ? [`the run is ${run.status}: the export ends with version ${grouped(run.version)}`] : [];
  const lacks =
    leftOut.length === 0
      ? []
      : [`${count(leftOut.length, "large value")} did not fit; the export holds only the digest`];
  return [
    `${terminal.paintOut("bold", file)}  ${grouped(Math.ceil(bytes / 1024))} KB`,
    terminal.paintOut("dim", `${run.run}  ${run.agent}: ${held.join(", ")}`),
    ...live,
    ...lacks,
    `replay it, with or without a store: ${terminal.paintOut("bold", commandLine(["replay", file]))}`,
  ].join("\n");
}

export function alreadyThere(shell: Shell, file: string, instead = "ANOTHER.jsonl.gz"): UserError {
  const why = "an export never replaces a file; delete that file, or name another one";
  const next = retyped(shell, "--out", instead);
  return new UserError({ code: "FileExists", exit: EXIT.refused, what: `${file} already exists`, why, next });
}

export function unwritable(
  shell: Shell,
  {
    file,
    cause,
    instead = "ANOTHER.jsonl.gz",
  }: { readonly file: string; readonly cause: unknown; readonly instead?: string },
): UserError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const next = retyped(shell, "--out", instead);
  const what = `${file} cannot be written`;
  const exit = isShortage(cause) ? EXIT.store : EXIT.usage;
  return new UserError({ code: "FileUnwritable", exit, what, why, next }, { cause });
}
