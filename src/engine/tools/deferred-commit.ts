/**
 * The plan edge: whether calls may start before the plan that asked for them is committed. The dial weighs what that
 * could cost; here stands what it may never break. A death forgets the reply, so somebody has to know that it was paid
 * for: the committed phase says that the model may have been asked, and each claim stands for one reply (schedules 70
 * and 71). Who finds a death commits first (schedule 72).
 */
import type { Agent } from "../../ports/agent.ts";
import { type Setting, crashRateOf, dialOf, resultSettingOf } from "../../core/policy/dial.ts";
import type { Event, EventKind } from "../../core/event.ts";
import { effectOf } from "../../core/calls/ledger.ts";
import { waitsItsTurn } from "../../core/calls/open-calls.ts";
import type { OpenCall } from "../../core/state.ts";
import type { Row } from "../../protocol/row.ts";
import type { ActiveRun } from "../context/active-run.ts";
import { ASKING } from "../../core/calls/model-calls.ts";

/** What a reply and its calls record where nothing went wrong and nobody decided anything. */
const CALM: ReadonlySet<EventKind> = new Set([
  "RunStarted",
  "MessageAbsorbed",
  "ModelCallCompleted",
  "BudgetDebited",
  "ToolIntended",
  "ToolInvoked",
  "ToolResultRecorded",
]);

/** What is owed first is to run calls, and something is not committed: whether that may wait until they have run. */
export function mayWait(run: ActiveRun, agent: Agent): boolean {
  const { pending, row, state } = run;
  // Also an agent of another copy of cairn, which says nothing about it.
  if (agent.dial !== "auto" || !ASKING.has(row.phase)) return false;
  if (!pending.events.every(({ kind }) => CALM.has(kind))) return false;
  if (!state.open.every((open) => isFirstTry(run, open))) return false;
  return settingOf(run).plan === "skip";
}

/** A reply that was paid for and is not committed: the next one needs a claim of its own. */
export const holdsReply = ({ pending }: ActiveRun): boolean => pending.events.some(isReply);

const isReply = (event: Event): boolean => event.kind === "BudgetDebited" && (event.debit.beats ?? 0) > 0;

function isFirstTry({ row, state }: ActiveRun, open: OpenCall): boolean {
  const isMine = open.status === "started" && open.releasedBy === row.epoch;
  return open.tries === 0 && open.probeAt === null && (isMine || waitsItsTurn(state.open, open));
}

/**
 * Claims ever are not in the row, and versions are more: it has those of this execution, and all takeovers. So the rate is
 * rather too high.
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

/** The call has ended while others of its batch still run: whether its result is committed before they end. */
export const isWorthCommit = ({ row }: ActiveRun, open: OpenCall, tookMs: number): boolean =>
  resultSettingOf({ effect: effectOf(open), tookMs, crashRate: rateIn(row) }) === "force";
