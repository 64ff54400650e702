/** What is kept of a tool's return value: its result as JSON, after the tool's `output` schema has parsed it. */
import type { Json } from "../../core/json.ts";
import type { FileContent } from "../../core/file.ts";
import { asJsonWithFiles } from "../../codec/value.ts";
import type { Tool } from "../../ports/agent.ts";
import { fit } from "../../codec/fit.ts";

/** A result that is kept: its JSON, with a reference in the place of each file, and the files. */
export interface ReadResult {
  readonly json: Json;
  readonly files: readonly FileContent[];
}

/** The parsed result of a tool, or why it is not kept. */
export type ToolResult =
  | ({ readonly ok: true } & ReadResult)
  /**
   * `ResultInvalid`: the value does not fit the declared output. `ResultRefused`: the value is not JSON that can be
   * kept.
   */
  | { readonly ok: false; readonly code: "ResultInvalid" | "ResultRefused"; readonly why: string };

/** Parses the returned value. Never throws. An agent of another copy of cairn may have no `output`. */
export function readResult({ output = null }: Partial<Pick<Tool, "output">>, returned: unknown): ToolResult {
  const parsed = output === null ? ({ kind: "fits", output: returned } as const) : fit(output, returned);
  if (parsed.kind === "threw") return { ok: false, code: "ResultInvalid", why: parsed.why };
  if (parsed.kind === "misfits") {
    const why = parsed.issues.map(({ path, message }) => `${path.map(String).join(".") || "result"}: ${message}`);
    return { ok: false, code: "ResultInvalid", why: why.join("; ") };
  }
  const kept = asJsonWithFiles(parsed.output);
  return kept.ok ? kept : { ok: false, code: "ResultRefused", why: kept.why };
}
