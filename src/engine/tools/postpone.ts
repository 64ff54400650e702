/**
 * Postpones calls that were agreed and that this invocation does not start. A later beat releases them, with the same key
 * (`core/calls/postponed.ts`). A call that no beat could start for long becomes a question for an operator.
 */
import type { Tool } from "../../ports/agent.ts";
import { bounded } from "../../codec/value.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { isReleasedBy } from "../../core/calls/held-calls.ts";
import { effectOf } from "../../core/calls/ledger.ts";
import { isMissedTooOften } from "../../core/calls/postponed.ts";
import type { PostponedAfter } from "../../core/event.ts";
import { BOUNDS } from "../../core/limits.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { recordUnknown } from "./unknown-outcome.ts";

/** A call with its tool. */
interface Called {
  readonly open: OpenCall;
  readonly tool: Tool;
}

/**
 * Postpones a call for which no time is left: one attempt takes up to `takesMs`. An invocation that has worked before
 * leaves less than a beat, so only the beat of another one counts.
 */
export function postponeForRoom(
  run: ActiveRun,
  {
    open,
    tool,
    after,
    takesMs,
    hasWorked = run.seen.hasWorked,
  }: Called & { readonly after: PostponedAfter; readonly takesMs: number; readonly hasWorked?: boolean },
): void {
  const left = Math.max(0, run.leftMs);
  const why = `a try takes up to ${takesMs} ms (timeoutMs of ${open.tool}), and ${left} of the ${run.world.limits.beatMs} ms of this beat are left`;
  if (hasWorked) return postpone(run, open, { after, why });
  postponeMissed(run, { open, tool, after, why, mend: "lower its timeoutMs or raise beatSeconds, and deploy" });
}

/** Postpones a call that this beat could not start, or asks an operator where it is one beat too many. */
export function postponeMissed(
  run: ActiveRun,
  {
    open,
    tool,
    after,
    why,
    mend,
  }: Called & { readonly after: PostponedAfter; readonly why: string; readonly mend: string },
): void {
  const { call } = open;
  const isLast = isMissedTooOften(open);
  postpone(run, open, { after, why, missed: true });
  if (!isLast) return;
  const asked = bounded(
    `${BOUNDS.missedBeatsMax} beats in a row could not start it: ${why}; ${mend}, then reconcile it as retry`,
  );
  // An earlier request of it may have left, so its outcome is unknown.
  if (after === "retry") return recordUnknown(run, { call, tool, why: asked });
  run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why: asked, reconcilableFrom: run.now, unbegun: true });
}

/**
 * Postpones all calls that this invocation released and did not begin. The next one could not know that, and would decide
 * by the effect table: it would probe, or ask a human (schedule 212).
 */
export function postponeUnbegun(run: ActiveRun, why: string): void {
  for (const open of run.state.open) {
    if (!isReleasedBy(open, run.row.epoch) || run.noticed.knows("begun", open.call)) continue;
    const after = afterRelease(run, open);
    if (after !== "retry") postpone(run, open, { after, why });
  }
}

/** How this invocation knows that a call that it released did not begin. */
export function afterRelease({ noticed }: ActiveRun, open: OpenCall): Exclude<PostponedAfter, "intent"> {
  const { hasProbe, overlapsEarlierTries } = EFFECTS[effectOf(open)];
  if (overlapsEarlierTries && noticed.knows("unanswered", open.call)) return "retry";
  return hasProbe && noticed.knows("repeated", open.call) ? "probe" : "release";
}

export function postpone(
  run: ActiveRun,
  { call }: OpenCall,
  { after, why, missed }: { readonly after: PostponedAfter; readonly why: string; readonly missed?: true },
): void {
  run.noticed.note("postponed", call);
  const action = { kind: "postpone", call, after, ...(missed && { missed }) } as const;
  run.record({ kind: "RecoveryDecided", at: run.now, rule: RULE, why, action });
}

const RULE = "call did not begin, a later beat makes it";
