/** What is kept of what a tool returned: its result as the tool's `output` parses it, as JSON. */
import type { Json } from "../../core/json.ts";
import { asJson } from "../../codec/value.ts";
import type { Tool } from "../../ports/agent.ts";
import { fit } from "../../codec/fit.ts";

export type ToolResult =
  | { readonly ok: true; readonly json: Json }
  /** `ResultInvalid`: it does not fit the declared output. `ResultRefused`: it is no JSON that is kept. */
  | { readonly ok: false; readonly code: "ResultInvalid" | "ResultRefused"; readonly why: string };

/** Never throws. An agent of another copy of cairn may know of no `output`. */
export function readResult({ output = null }: Partial<Pick<Tool, "output">>, returned: unknown): ToolResult {
  const parsed = output === null ? ({ kind: "fits", output: returned } as const) : fit(output, returned);
  if (parsed.kind === "threw") return { ok: false, code: "ResultInvalid", why: parsed.why };
  if (parsed.kind === "misfits") {
    const why = parsed.issues.map(({ path, message }) => `${path.map(String).join(".") || "result"}: ${message}`);
    return { ok: false, code: "ResultInvalid", why: why.join("; ") };
  }
  const kept = asJson(parsed.output);
  return kept.ok ? kept : { ok: false, code: "ResultRefused", why: kept.why };
}
