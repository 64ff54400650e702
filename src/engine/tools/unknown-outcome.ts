/**
 * Calls with an unknown outcome. An operator is asked to reconcile each of them. A tool may declare another policy: the
 * model is told, or the run fails or compensates.
 *
 * Such a policy applies only when no process can act any more and every request has landed. A model that is told
 * earlier checks the service, finds no effect, and repeats the call (schedule 59).
 */
import type { Tool } from "../../ports/agent.ts";
import type { Event } from "../../core/event.ts";
import type { OpenCall } from "../../core/state.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { absorbInbox } from "../context/inbox.ts";
import { openCall } from "./tools.ts";
import type { Next } from "../context/next.ts";

/**
 * Records an unknown outcome. `reconcilableFrom` is the time from which an operator may be asked. The default is for a
 * call of this invocation.
 */
export function recordUnknown(
  run: ActiveRun,
  {
    call,
    tool,
    why,
    reconcilableFrom = reconcileFromOf(run, tool),
    restored,
    approval,
  }: {
    readonly call: string;
    readonly tool: Tool | null;
    readonly why: string;
    readonly reconcilableFrom?: number;
    /** The restore of the run that the question is about. */
    readonly restored?: number | undefined;
    /** Why its tool needs approval: the question asks for that, too. */
    readonly approval?: string | undefined;
  },
): void {
  const onUnknown = tool?.onUnknown ?? "ask";
  const follows = onUnknown === "ask" ? {} : { onUnknown };
  run.record({
    kind: "ToolOutcomeUnknown",
    at: run.now,
    call,
    why,
    reconcilableFrom,
    ...follows,
    ...(restored !== undefined && { restored }),
    ...(approval !== undefined && { approval }),
  });
}

/**
 * Tells the model at once, after the last attempt of a call that may be repeated. A request that is still under way
 * carries the same key, so the model need not wait.
 */
export function recordUnknownAndTellModel(
  run: ActiveRun,
  { call, tool, why }: { readonly call: string; readonly tool: Tool; readonly why: string },
): void {
  const at = run.now;
  // If the run fails, the call may be undone from this time on. The request has landed by then (schedule 69).
  const reconcilableFrom = reconcileFromOf(run, tool);
  run.record({ kind: "ToolOutcomeUnknown", at, call, why, reconcilableFrom, onUnknown: "tell" });
  run.record({ kind: "RecoveryDecided", at, rule: TELL, why, action: { kind: "tell", call } });
}

/**
 * Applies the tool's policy to an unknown outcome. Schedule 60: a reconciliation wins over the clock, so this commit is
 * conditional on the wake-up counter.
 */
export async function giveUpCall(run: ActiveRun, call: string): Promise<Next> {
  const isAll = await absorbInbox(run);
  const open = openCall(run, call);
  if (open.answer !== null || !isAll) return "continue";
  const before = run.mark();
  run.record(decisionOn(open, run.now));
  const outcome = await run.commit({ release: false, unlessWoken: true });
  if (outcome === "woken") run.restore(before);
  return "continue";
}

const TELL = "outcome stays unknown, the model is told";
const UNDO = "outcome stays unknown, everything is undone";
const FAIL = "outcome stays unknown, the run fails";

/** The decision that the tool's policy leads to. */
function decisionOn({ call, tool, intent, onUnknown }: OpenCall, at: number): Event {
  const why = `the outcome of ${tool} (${call}, key ${intent?.key ?? ""}) was not known in time`;
  if (onUnknown === "tell") return { kind: "RecoveryDecided", at, rule: TELL, why, action: { kind: "tell", call } };
  const failure = { code: "OutcomeUnknown", message: `${why}; look for that key in the external service` };
  if (onUnknown === "compensate")
    return { kind: "RecoveryDecided", at, rule: UNDO, why, action: { kind: "abort", failure } };
  return { kind: "RecoveryDecided", at, rule: FAIL, why, action: { kind: "abort", failure, next: "end" } };
}

/**
 * From when an operator can know that a call of this invocation did not happen, in epoch milliseconds (schedule 35). No
 * process can start it then, and every request has landed or never will. The settle time counts from the later of two
 * times: the end of the lease under which the request left, and now. A lease already contains the margin of clocks. The
 * time of this invocation does not, and a reader's clock may be ahead of it, so the margin is added (schedule 48).
 */
export function reconcileFromOf(run: ActiveRun, tool: Tool | null): number {
  const { effectsSettleAt, leaseUntil } = run.row;
  const { skewMs, settleMs } = run.world.limits;
  return Math.max(effectsSettleAt, leaseUntil ?? 0, run.now + skewMs) + (tool?.settleMs ?? settleMs);
}

/**
 * The same for a call that another invocation released and that has no recorded end.
 *
 * `claims` counts the invocations that held the run since its last release, including this one. Each of the others lost
 * the run without releasing it, and `effectsSettleAt` covers its lease (schedules 3, 33). No request of those or of any
 * earlier invocation left after `effectsSettleAt` (schedule 22). If one of them released the call, settle time counts from
 * `effectsSettleAt`. So an operator is asked at once about a run that is found an hour later.
 *
 * In every other case the row does not hold the lease of the invocation that released the call. Either the run was
 * released without a record of the call's end (schedule 86), or it was handed over in between. Then `effectsSettleAt` may be
 * an older lease. So settle time counts from the lease of this invocation, which ends later than that of the other one.
 */
export function reconcileFromAfter(run: ActiveRun, { open, tool }: { open: OpenCall; tool: Tool | null }): number {
  const { epoch, claims, effectsSettleAt } = run.row;
  const isOfLost = open.releasedBy !== null && open.releasedBy > epoch - claims;
  return isOfLost ? effectsSettleAt + (tool?.settleMs ?? run.world.limits.settleMs) : reconcileFromOf(run, tool);
}
