/**
 * Keeps what a tool returned: its files and its large values become objects before any commit names them. A tool whose
 * `redact` removes a reference keeps that file out of the run too.
 */
import type { Tool } from "../../ports/agent.ts";
import type { Value } from "../../core/message.ts";
import { type WithFiles, withFiles } from "../../core/file.ts";
import { filesOf } from "../../core/files-in.ts";
import { SIZES } from "../../codec/limits.ts";
import { putFiles } from "../../history/files.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { recordable } from "./recordable.ts";
import { type ReadResult, type ToolResult, readResult } from "./tool-result.ts";

/** Parses what a tool returned. Files that the run has no room for are refused with the result. */
export function readResultOf(run: ActiveRun, tool: Tool, returned: unknown): ToolResult {
  const read = readResult(tool, returned);
  if (!read.ok || read.files.length === 0) return read;
  const sum = (sizes: readonly { readonly bytes: number }[]): number =>
    sizes.reduce((all, { bytes }) => all + bytes, 0);
  const bytes = sum(filesOf(run.state.messages)) + sum(read.files.map(({ ref }) => ref));
  if (bytes <= SIZES.runFilesBytesMax) return read;
  const why = `the files of the run would have ${bytes} bytes; at most ${SIZES.runFilesBytesMax} are accepted`;
  return { ok: false, code: "ResultRefused", why };
}

/** The value and the files to record. */
export async function keepResult(
  run: ActiveRun,
  tool: Tool,
  { json, files }: ReadResult,
): Promise<{ readonly value: Value } & WithFiles> {
  const recorded = recordable(tool, json, "result");
  const text = (tool.redact ?? null) === null ? null : JSON.stringify(recorded);
  const kept = files.filter(({ ref }) => text === null || text.includes(ref.file));
  await putFiles(run.world.objects, run.row, kept);
  return { value: await run.keep(recorded), ...withFiles(kept.map(({ ref }) => ref)) };
}
