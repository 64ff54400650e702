/**
 * Decides whether calls may start before the plan that proposed them is committed. The dial (`dial.ts`) weighs the cost
 * of the commit against the risk. This file holds the conditions that always apply.
 *
 * If the process dies, an uncommitted reply is lost, but its cost must still be debited. The committed phase says that
 * the model may have been called, and each claim accounts for one reply (schedules 70 and 71). An invocation that finds
 * a death commits first (schedule 72).
 */
import type { Agent } from "../../ports/agent.ts";
import { type Setting, crashRateOf, dialOf, resultSettingOf } from "../../core/policy/dial.ts";
import type { Event, EventKind } from "../../core/event.ts";
import { effectOf } from "../../core/calls/ledger.ts";
import { waitsForEarlierCall } from "../../core/calls/open-calls.ts";
import type { OpenCall } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { MODEL_PHASES } from "../../core/calls/model-calls.ts";

/** The events of an ordinary reply and its calls: nothing failed, and no human decided anything. */
const CALM: ReadonlySet<EventKind> = new Set([
  "RunStarted",
  "MessageAbsorbed",
  "ModelCallCompleted",
  "BudgetDebited",
  "ToolIntended",
  "ToolInvoked",
  "ToolResultRecorded",
]);

/** Whether the pending events may stay uncommitted until the due calls have run. */
export function mayDeferCommit(run: ActiveRun, agent: Agent): boolean {
  const { pending, row, state } = run;
  // An agent of another copy of cairn may declare no dial.
  if (agent.dial !== "auto" || !MODEL_PHASES.has(row.phase)) return false;
  if (!pending.events.every(({ kind }) => CALM.has(kind))) return false;
  if (!state.open.every((open) => isFirstTry(run, open))) return false;
  return settingOf(run).plan === "skip";
}

/** Whether a reply that was paid for is not committed. The next model call then needs a commit first (schedule 71). */
export const holdsReply = ({ pending }: ActiveRun): boolean => pending.events.some(isReply);

const isReply = (event: Event): boolean =>
  event.kind === "BudgetDebited" && (event.debit.beats ?? 0) > 0 && event.child === undefined;

function isFirstTry({ row, state }: ActiveRun, open: OpenCall): boolean {
  const isMine = open.status === "started" && open.releasedBy === row.epoch;
  return open.attempts === 0 && open.probeAt === null && (isMine || waitsForEarlierCall(state.open, open));
}

/**
 * The dial's setting for the pending reply. The row does not count claims. `chainClaims` counts those of this execution
 * only, while `takeovers` counts all, so the crash rate is rather too high.
 */
function settingOf({ pending, row, state }: ActiveRun): Setting {
  const reply = { microUsd: 0, tookMs: 0 };
  for (const event of pending.events) {
    if (event.kind === "ModelCallCompleted") reply.tookMs += event.tookMs;
    if (event.kind === "BudgetDebited" && isReply(event)) reply.microUsd += event.debit.microUsd ?? 0;
  }
  return dialOf({ effects: state.open.map(effectOf), reply, crashRate: rateIn(row) });
}

const rateIn = ({ takeovers, chainClaims: claims }: Row): number => crashRateOf({ takeovers, claims });

/** Whether the result of this call is committed while other calls of its batch still run. */
export const isWorthCommit = ({ row }: ActiveRun, open: OpenCall, tookMs: number): boolean =>
  resultSettingOf({ effect: effectOf(open), tookMs, crashRate: rateIn(row) }) === "force";
