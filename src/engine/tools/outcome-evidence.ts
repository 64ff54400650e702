/**
 * What the other side says of a call: a probe asks it, or it says so by itself in an error, such as that something exists
 * already under our key (seed 3). Both are evidence that the call happened.
 */
import type { Tool } from "../../ports/agent.ts";
import { type ToolResult, readResult } from "./tool-result.ts";
import { asJson, bounded, sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import { type Value, inline } from "../../core/message.ts";
import type { ActiveRun } from "../context/active-run.ts";

interface Happened {
  readonly call: string;
  readonly tool: Tool;
  readonly result: unknown;
  readonly by: "probe" | "other side";
  readonly evidence?: string;
}

export async function recordHappened(run: ActiveRun, { call, tool, result, by, evidence }: Happened): Promise<void> {
  const read = readResult(tool, result);
  const value = read.ok
    ? await run.keep(recordable(tool, read.json, "result"))
    : lostResult(read, { by, outcome: "succeeded" });
  const externalId = read.ok ? externalIdOf(tool, read.json) : null;
  run.record({
    kind: "ToolResultReconciled",
    at: run.now,
    call,
    answer: { as: "succeeded", value, by, note: null },
    ...(evidence === undefined ? {} : { evidence }),
    ...(externalId === null ? {} : { externalId }),
  });
}

/** In place of a result that is lost. A model that reads of a refusal alone would take the call for one that failed. */
export function lostResult(
  { code, why }: Extract<ToolResult, { readonly ok: false }>,
  of: { readonly by: string; readonly outcome: "succeeded" | "failed" },
): Value {
  const isMisfit = code === "ResultInvalid";
  const what = isMisfit ? "does not fit the output that its tool declares" : "cannot be kept";
  const said = bounded(`${code}: what the ${of.by} returned ${what}: ${why}`);
  return inline(of.outcome === "failed" ? said : `${said}. The call itself succeeded; do not repeat it.`);
}

/** What the tool itself wants recorded of a value. If it cannot say, nothing is: it may be just what it would take out. */
export function recordable({ redact = null }: Partial<Tool>, json: Json, of: "arguments" | "result"): Json {
  if (redact === null) return json;
  try {
    const given: unknown = redact(structuredClone(json), of);
    if (given instanceof Promise) given.catch(() => undefined);
    const parsed = asJson(given);
    return parsed.ok ? parsed.json : WITHHELD;
  } catch {
    return WITHHELD;
  }
}

const WITHHELD = "[redacted by-its-tool]";

type Read =
  | { readonly kind: "exists"; readonly result: unknown }
  /** The error says that the call failed; `evidence` says how that is known. */
  | { readonly kind: "failed"; readonly evidence: string };

/** What an error of the tool comes to. */
export function readError({ onExists }: Tool, error: unknown): Read {
  try {
    const result = onExists?.(error) ?? null;
    if (!(result instanceof Promise)) {
      return result === null ? { kind: "failed", evidence: "the tool threw" } : { kind: "exists", result };
    }
    // Nobody waits for it, and if it fails that must not end the process.
    result.catch(() => undefined);
    return { kind: "failed", evidence: "the tool threw, and its onExists gave a promise instead of a result" };
  } catch (thrown) {
    return { kind: "failed", evidence: bounded(`the tool threw, and so did its onExists: ${sentenceOf(thrown)}`) };
  }
}

/** The other side's name for what was done. */
export function externalIdOf(tool: Tool, result: Json): string | null {
  try {
    return bounded(String(tool.externalId?.(result) ?? "")) || null;
  } catch (error) {
    return bounded(`externalId threw: ${sentenceOf(error)}`);
  }
}
