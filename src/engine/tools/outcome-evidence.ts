/**
 * Evidence from the external service that a call happened. A probe asks for it, or an error of the tool contains it:
 * something exists already under our key.
 */
import type { Tool } from "../../ports/agent.ts";
import type { ToolResult } from "./tool-result.ts";
import { keepResult, readResultOf } from "./kept-result.ts";
import { bounded, sentenceOf } from "../../codec/value.ts";
import type { Json } from "../../core/json.ts";
import { type Value, inline } from "../../core/message.ts";
import type { ActiveRun } from "../context/active-run.ts";

interface Happened {
  readonly call: string;
  readonly tool: Tool;
  readonly result: unknown;
  readonly by: "probe" | "external service";
  readonly evidence?: string;
}

/** Records that the call succeeded, with its result and the evidence. */
export async function recordEvidence(run: ActiveRun, { call, tool, result, by, evidence }: Happened): Promise<void> {
  const read = readResultOf(run, tool, result);
  const kept = read.ok ? await keepResult(run, tool, read) : { value: lostResult(read, { by, outcome: "succeeded" }) };
  const externalId = read.ok ? externalIdOf(tool, read.json) : null;
  run.record({
    kind: "ToolResultReconciled",
    at: run.now,
    call,
    answer: { as: "succeeded", by, note: null, ...kept },
    ...(evidence === undefined ? {} : { evidence }),
    ...(externalId === null ? {} : { externalId }),
  });
}

/**
 * The text that stands for a lost result. After a successful call it says so; otherwise the model would take the
 * refusal for a failure and repeat the call.
 */
export function lostResult(
  { code, why }: Extract<ToolResult, { readonly ok: false }>,
  { by, outcome }: { readonly by: string; readonly outcome: "succeeded" | "failed" },
): Value {
  const isMisfit = code === "ResultInvalid";
  const what = isMisfit ? "does not fit the output that its tool declares" : "cannot be kept";
  const said = bounded(`${code}: what the ${by} returned ${what}: ${why}`);
  return inline(outcome === "failed" ? said : `${said}. The call itself succeeded; do not repeat it.`);
}

/** What an error of the tool says about the call. */
type Read =
  | { readonly kind: "exists"; readonly result: unknown }
  /** The error says that the call failed. `evidence` says how that is known. */
  | { readonly kind: "failed"; readonly evidence: string };

/** Reads an error of the tool with its `onExists`. Never throws. */
export function readError({ onExists }: Tool, error: unknown): Read {
  try {
    const result = onExists?.(error) ?? null;
    if (!(result instanceof Promise)) {
      return result === null ? { kind: "failed", evidence: "the tool threw" } : { kind: "exists", result };
    }
    // The promise is not awaited. Its rejection must not end the process.
    result.catch(() => undefined);
    return { kind: "failed", evidence: "the tool threw, and its onExists gave a promise instead of a result" };
  } catch (thrown) {
    return { kind: "failed", evidence: bounded(`the tool threw, and so did its onExists: ${sentenceOf(thrown)}`) };
  }
}

/** The external service's ID for the effect, or null. */
export function externalIdOf(tool: Tool, result: Json): string | null {
  try {
    return bounded(String(tool.externalId?.(result) ?? "")) || null;
  } catch (error) {
    return bounded(`externalId threw: ${sentenceOf(error)}`);
  }
}
