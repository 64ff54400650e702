/** Carries out requests of operators. The beat that sees a request carries it out before it starts anything new. */
import type { ActiveRun } from "../context/active-run.ts";
import { recordResult } from "../tools/record-result.ts";
import { isReleasedBy } from "../../core/calls/held-calls.ts";
import { inline } from "../../core/message.ts";
import { ignoreUnjudgedInputs } from "../context/inbox.ts";
import type { Next } from "../context/next.ts";

/**
 * Cancels the run. No effect starts after the commit that saw the cancel. So calls that this invocation released and
 * did not begin are recorded as not started.
 */
export function cancel(run: ActiveRun): Next {
  const { epoch } = run.row;
  for (const open of run.state.open) {
    const { call, attempts, undoes } = open;
    if (undoes !== undefined || !isReleasedBy(open, epoch) || attempts > 0 || run.noticed.knows("unanswered", call))
      continue;
    const value = inline("NotStarted: the run was cancelled before it began; it did not happen");
    recordResult(run, call, { outcome: "failed", value, evidence: "it was never started" });
  }
  ignoreUnjudgedInputs(run);
  const why = "a cancel was requested";
  run.record({ kind: "RecoveryDecided", at: run.now, rule: "cancel requested", why, action: { kind: "cancel" } });
  return "continue";
}

export function pause(run: ActiveRun): Next {
  run.record({ kind: "RunPaused", at: run.now });
  return "continue";
}

export function resume(run: ActiveRun): Next {
  run.record({ kind: "RunResumed", at: run.now });
  return "continue";
}
