/** Records the final result of a call. */
import type { WithFiles } from "../../core/file.ts";
import type { Value } from "../../core/message.ts";
import type { ActiveRun } from "../context/active-run.ts";

/** `evidence` says how the outcome is known. */
export function recordResult(
  run: ActiveRun,
  call: string,
  result: { outcome: "succeeded" | "failed"; value: Value; externalId?: string | null; evidence: string } & WithFiles,
): void {
  run.record({ kind: "ToolResultRecorded", at: run.now, call, externalId: null, ...result });
}
