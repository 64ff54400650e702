/** What is recorded of arguments and results, after the tool's own `redact`. */
import type { Tool } from "../../ports/agent.ts";
import { asJson } from "../../codec/value.ts";
import { type Json, copyOfJson } from "../../core/json.ts";

/**
 * The value as the tool wants it recorded, after its `redact`. If `redact` throws or returns no JSON, nothing is
 * recorded, because the value may hold what `redact` would have removed.
 */
export function recordable(
  { redact = null }: Partial<Tool>,
  json: Json,
  what: "arguments" | "result" | "before",
): Json {
  if (redact === null) return json;
  try {
    const given: unknown = redact(copyOfJson(json), what);
    if (given instanceof Promise) given.catch(() => undefined);
    const parsed = asJson(given);
    return parsed.ok ? parsed.json : WITHHELD;
  } catch {
    return WITHHELD;
  }
}

const WITHHELD = "[redacted by-its-tool]";
