/**
 * Ends the answer under way of a conversation: the calls of its last reply that did not begin are settled, those that began
 * are awaited, and then a reply of cairn takes the place of the rest (`loop/step.ts`).
 */
import { isHeld, isReleasedBy, gateIn, waitIn } from "../../core/calls/held-calls.ts";
import { NEXT_MESSAGE } from "../../core/calls/next-message.ts";
import { inline } from "../../core/message.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "./active-run.ts";

/** `by`: the user who stopped it. */
export function stopAnswer(run: ActiveRun, by: string): void {
  // What is undone goes on, and so does a run that is to end.
  if (run.state.ending !== null || run.state.undo !== undefined) return;
  for (const open of run.state.open) {
    const gate = gateIn(open);
    // An approval that came first and is not applied yet began nothing.
    if (gate === null || gate.decision?.as === "deny") continue;
    const decision = { as: "deny", args: null, by, note: "the user stopped the answer" } as const;
    run.record({ kind: "HumanApprovalReceived", at: run.now, gate: gate.gate, call: open.call, decision });
  }
  for (const open of run.state.open) {
    const { call } = open;
    const isWait = waitIn(open) !== undefined;
    if (!(isWait || run.state.phase === "ExecutingTools") || !isUnbegun(run, open)) continue;
    const why = isWait ? "StoppedWaiting: the user stopped the answer" : "NotStarted: the user stopped the answer";
    const result = {
      outcome: "failed",
      value: inline(why),
      externalId: null,
      evidence: "it was never started",
    } as const;
    run.record({ kind: "ToolResultRecorded", at: run.now, call, ...result });
  }
  run.noticed.requireCommit();
}

/** The call did nothing outside: it waits for a human or a time, or its attempt is not made. */
function isUnbegun(run: ActiveRun, open: OpenCall): boolean {
  const { call, tool, status, attempts, undoes, timesUnknown, releasedBy } = open;
  if (tool === NEXT_MESSAGE || undoes !== undefined || timesUnknown > 0 || run.noticed.isUnanswered(call)) return false;
  if (waitIn(open) !== undefined) return true;
  if (isHeld(open)) return false;
  // Schedule 277: an earlier invocation that released the call may have begun it.
  if (status === "started") return isReleasedBy(open, run.row.epoch) && attempts === 0;
  return (status === "proposed" || status === "permitted") && releasedBy === null;
}
