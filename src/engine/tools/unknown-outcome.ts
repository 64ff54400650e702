/**
 * Calls whose outcome nobody knows. A person is asked about each; where its tool says so, nobody needs to answer: the
 * model is told, or the run fails. That waits until whoever could still act is dead and what left has landed: a model that
 * is told earlier looks, sees nothing, and does it again (schedule 59).
 */
import type { Tool } from "../../ports/agent.ts";
import type { Event } from "../../core/event.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { absorbInbox } from "../context/inbox.ts";
import { openCall } from "./tools.ts";
import type { Next } from "../context/next.ts";

/** The outcome of the call is unknown from now on. `askFrom`: where it is not a call of this invocation. */
export function recordUnknown(
  run: ActiveRun,
  of: { readonly call: string; readonly tool: Tool | null; readonly why: string; readonly askFrom?: number },
): void {
  const { call, tool, why, askFrom = askFromOf(run, tool) } = of;
  const otherwise = tool?.onUnknown ?? "ask";
  const follows = otherwise === "ask" ? {} : { otherwise };
  run.record({ kind: "ToolOutcomeUnknown", at: run.now, call, why, askFrom, ...follows });
}

/** After the last try of a call that may be repeated: what is on its way has our key, and the model waits for nothing. */
export function tellAtOnce(
  run: ActiveRun,
  { call, tool, why }: { readonly call: string; readonly tool: Tool; readonly why: string },
): void {
  const at = run.now;
  // From when it may be undone, should the run fail: what is on its way has landed by then (schedule 69).
  const askFrom = askFromOf(run, tool);
  run.record({ kind: "ToolOutcomeUnknown", at, call, why, askFrom, otherwise: "tell" });
  run.record({ kind: "RecoveryDecided", at, rule: TELL, why, action: { kind: "tell", call } });
}

/** Schedule 60: an answer beats the clock, so this commits only while nobody stirred the run since its inbox was read. */
export async function giveUp(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const open = openCall(run, call);
  if (open.answer !== null || !isAll) return "on";
  const before = run.mark();
  run.record(decisionOn(open, run.now));
  const outcome = await run.commit({ release: false, unlessStirred: true });
  if (outcome === "stirred") run.restore(before);
  return "on";
}

const TELL = "outcome stays unknown, the model is told";
const UNDO = "outcome stays unknown, everything is undone";
const FAIL = "outcome stays unknown, the run fails";

function decisionOn({ call, tool, intent, otherwise }: OpenCall, at: number): Event {
  const why = `nobody could say in time whether ${tool} (${call}, key ${intent?.key ?? ""}) happened`;
  if (otherwise === "tell") return { kind: "RecoveryDecided", at, rule: TELL, why, action: { kind: "tell", call } };
  const failure = { code: "OutcomeUnknown", message: `${why}; look for that key on the other side` };
  if (otherwise === "compensate")
    return { kind: "RecoveryDecided", at, rule: UNDO, why, action: { kind: "abort", failure } };
  return { kind: "RecoveryDecided", at, rule: FAIL, why, action: { kind: "abort", failure, next: "end" } };
}

/**
 * From when a person can tell that it did not happen (schedule 35): whoever may still start it is dead then, and what
 * left has landed or never will. A lease has the margin of clocks in it; this invocation's own time has not, and it is
 * judged by somebody whose clock may be ahead (schedule 48).
 */
export function askFromOf(run: ActiveRun, tool: Tool | null): number {
  const { quietUntil, leaseUntil } = run.row;
  const quiet = run.noticed.outlived === "tool" ? Math.max(quietUntil, leaseUntil ?? 0) : quietUntil;
  const { skewMs, settleMs } = run.world.limits;
  return Math.max(quiet, run.now + skewMs) + (tool?.settleMs ?? settleMs);
}

/**
 * The same for a call that another invocation released and that has no recorded end. `claims` counts the invocations that
 * held the run since it was last given back, this one included. Each of the others lost it without giving it back, and quiet
 * holds its lease (schedules 3, 33): nothing that it or any invocation before it sent left after that (22). So where one of
 * them released the call, settle time counts from quiet: a run that is found an hour later is asked about at once. Only what
 * this invocation sends is counted from now (48).
 *
 * In every other case the row does not tell the lease of the invocation that released the call: the run was given back
 * without a record of its end (86), or handed over in between, and quiet may be an older lease. Then settle time counts from
 * now, which is never too early.
 */
export function askFromAfter(run: ActiveRun, { open, tool }: { open: OpenCall; tool: Tool | null }): number {
  const { epoch, claims, quietUntil } = run.row;
  const isOfLost = open.releasedBy !== null && open.releasedBy > epoch - claims;
  return isOfLost ? quietUntil + (tool?.settleMs ?? run.world.limits.settleMs) : askFromOf(run, tool);
}
