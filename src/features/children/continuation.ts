/**
 * Whether a child that missed its deadline goes on as the same run, in another process. Its keys stay, so a call that is
 * under way follows the table of effect classes as after a death of its process: `none` and `keyed` go on at once,
 * `idempotent` and `probed` once the earlier request can no longer land. Other children are left as they are:
 *
 * - An `unsafe` call that is under way. Another process could only ask a human; the one that made it may still learn the
 *   outcome.
 * - A child that waits for a human, for code or for an operator. No process holds it up.
 * - A child that has made no progress since it was taken from its process. It would hang a third time (schedule 255).
 */
import type { Child } from "../../core/child.ts";
import { EFFECTS } from "../../core/calls/effects.ts";
import { isReleased } from "../../core/calls/held-calls.ts";
import type { Phase } from "../../core/phases.ts";
import type { OpenCall } from "../../core/state.ts";
import { dispatchIn } from "../../protocol/row-fence.ts";
import { hasEnded } from "../../protocol/row.ts";
import type { Runner } from "../../engine/context/runner.ts";
import { stateOfChild } from "./acts-nowhere.ts";

export interface Continuation {
  /** How many messages the child has. */
  readonly messages: number;
  /** Until when its request may land, epoch milliseconds; absent: it waits for none. */
  readonly settlesAt?: number;
}

const WAITS_FOR_HUMANS: ReadonlySet<Phase> = new Set([
  "AwaitingApproval",
  "AwaitingReconcile",
  "AwaitingAgent",
  "Paused",
]);

/** Null: the child does not go on so. `triesLeft`: of its parent. The child may have used them itself. */
export async function continuationOf(
  from: Pick<Runner, "world" | "agentOf" | "level">,
  entry: Child,
  triesLeft: number,
): Promise<Continuation | null> {
  if (entry.made !== true || entry.askedToStop === true) return null;
  const found = await stateOfChild(from, entry.id);
  if (found === null) return null;
  const { row, state } = found;
  const { length: messages } = state.messages;
  if ((state.expected?.returned ?? 0) >= triesLeft) return null;
  if (hasEnded(row) || row.cancel || row.pause || state.ending !== null) return null;
  if (WAITS_FOR_HUMANS.has(state.phase) || state.open.some(mustAsk)) return null;
  // A boss that died or was paused before its request has not taken the child yet: its new time has not begun.
  const wasTaken = dispatchIn(row) >= dispatchIn(entry);
  if (wasTaken && entry.messages === messages) return null;
  const waiting = state.open.filter((call) => isReleased(call) && afterCrash(call) === "probe");
  if (waiting.length === 0) return { messages };
  const agent = await from.agentOf(entry.agent);
  const { clock, limits } = from.world;
  const settleMs = waiting.map(({ tool }) => {
    const declared = agent.kind === "absent" ? undefined : agent.agent.tools[tool]?.settleMs;
    return declared ?? limits.settleMs;
  });
  // Its next process counts from its own lease (`reconcileFromAfter`).
  const nextLease = clock.now() + limits.beatMs + limits.skewMs;
  const quietFrom = Math.max(nextLease, row.effectsSettleAt, row.leaseUntil ?? 0);
  return { messages, settlesAt: quietFrom + Math.max(...settleMs) };
}

const mustAsk = (call: OpenCall): boolean =>
  call.status === "unknown" || (isReleased(call) && afterCrash(call) === "ask");

const afterCrash = ({ intent }: OpenCall) => (intent === null ? "ask" : EFFECTS[intent.effect].onCrash);
