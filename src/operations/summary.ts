/** One run in a list, from its row alone. Every view of a run begins with it. */
import { newerBy } from "../codec/row.ts";
import { CRACK_NAMES, type Crack } from "../core/crack.ts";
import type { RunLabels } from "../core/ids.ts";
import type { Spent } from "../core/policy/budget.ts";
import { usd } from "../core/policy/spending.ts";
import type { Phase, Status } from "../core/phases.ts";
import { openMark } from "../protocol/restored.ts";
import { type ListedRow, type StoreOutage, hasEnded } from "../protocol/row.ts";
import { softIdleMs } from "../engine/model/watchdog.ts";
import { type BudgetMeter, budgetMeters } from "./budget-meter.ts";

export interface Summary {
  readonly run: string;
  readonly agent: string;
  readonly agentVersion: string;
  /** What it is about, in one line; null if nothing is known. */
  readonly title: string | null;
  /** The key of its start, cut; null without one. */
  readonly startKey: string | null;
  /** What its start called it besides. */
  readonly labels: RunLabels;
  /** The run that dispatched it; null if no run did. */
  readonly parent: string | null;
  readonly status: Status;
  readonly phase: Phase;
  /** The run has not ended. Every view derives this anew, so it cannot be stale. */
  readonly inProgress: boolean;
  /** The run has not ended, and no invocation holds a live lease. The next invocation may continue it. */
  readonly resumable: boolean;
  readonly version: number;
  readonly epoch: number;
  readonly beats: number;
  readonly takeovers: number;
  readonly createdAt: number;
  readonly statusSince: number;
  readonly lastCheckpointAt: number;
  readonly wakeAt: number | null;
  /** Since when it asks its model, by the mark that is written before each call; null: it does not, or no process holds it. */
  readonly askingSince: number | null;
  /** From when on that call takes longer than usual: 80 % of what it may take, or 90 seconds; null without such a call. */
  readonly slowFrom: number | null;
  /**
   * An invocation could go on with it: it is queued or running, it was woken, or its time has come. If it is `resumable` as
   * well, no process drives it.
   */
  readonly ready: boolean;
  /** The store that failed when the run was last released; null after the next checkpoint. */
  readonly storeOutage: StoreOutage | null;
  /** Only a newer version of cairn can continue the run. */
  readonly needsNewer?: true;
  readonly spent: { readonly usd: number; readonly tokensIn: number; readonly tokensOut: number };
  /**
   * What it may spend and has spent, for each meter with a limit, as its last checkpoint knew them. Empty if an older
   * version wrote its row.
   */
  readonly budget: readonly BudgetMeter[];
  /** The first signals of failures that it gave. */
  readonly signals: readonly Crack[];
  /** The schedule of its agent started it. */
  readonly isScheduled: boolean;
  /** Its store was restored, and no operator has said that the external services were checked; null otherwise. */
  readonly restored: ShownRestored | null;
}

/** From when the state of a restored run is. Times are epoch milliseconds. */
export interface ShownRestored {
  /** When the store was restored. */
  readonly at: number;
  /** What the run did after this moment and before `at` is lost, and may have happened. */
  readonly asOf: number;
  /** A firing or a keyed start of the lost time made it: it waits for an operator's word. */
  readonly waits: boolean;
}

export function shownRestored(row: ListedRow): ShownRestored | null {
  const mark = openMark(row);
  return mark === null ? null : { at: mark.at, asOf: mark.asOf, waits: mark.waits === true };
}

/** The phases of a last commit behind which an invocation asks its model. Tools and children wait in the others. */
const BEFORE_A_CALL: ReadonlySet<Phase> = new Set([
  "Preparing",
  "AwaitingLLM",
  "RetryingLLM",
  "Compacting",
  "Reflecting",
  "ForceStop",
] as const);

/**
 * The phase of a row is that of its last commit, which the whole call does not change. Its mark is newer: it is in the claim,
 * or in the commit before the call.
 */
export function askingSince(row: ListedRow): number | null {
  const { owner, phase, unaccountedModelCalls, wakeAt, claimedAt = 0, lastCheckpointAt } = row;
  const isAsking = owner !== null && wakeAt === null && unaccountedModelCalls > 0 && BEFORE_A_CALL.has(phase);
  return isAsking && !hasEnded(row) ? Math.max(claimedAt, lastCheckpointAt) : null;
}

/** When a row is read, in epoch milliseconds, and what a call of the model may take there. */
interface ReadAt {
  readonly now: number;
  readonly modelMs: number;
}

/** The call of the model that is under way: since when, and from when on it takes longer than usual. */
export function callUnderWay(row: ListedRow, { now, modelMs }: ReadAt): Pick<Summary, "askingSince" | "slowFrom"> {
  const asking = isHeld(row, now) ? askingSince(row) : null;
  return { askingSince: asking, slowFrom: asking === null ? null : asking + softIdleMs(modelMs) };
}

/** An operator holds a paused run, and a run that a human has to answer is woken by the answer. */
function isReady(row: ListedRow, now: number): boolean {
  const { status, wakeCount, wakeCountSeen, wakeAt } = row;
  if (hasEnded(row) || status === "paused") return false;
  return (
    status === "queued" || status === "running" || wakeCount !== wakeCountSeen || (wakeAt !== null && wakeAt <= now)
  );
}

/** What every list says of a run: its ID, its agent, and what people call it. */
export const namesOf = ({ run, agent, brief }: ListedRow): Pick<Summary, "run" | "agent" | "title" | "startKey"> => ({
  run,
  agent,
  title: brief?.title ?? null,
  startKey: brief?.startKey ?? null,
});

const isHeld = ({ owner, leaseUntil }: ListedRow, now: number): boolean => owner !== null && now < (leaseUntil ?? 0);

/** The run has not ended, and no invocation holds a live lease. */
export const isResumable = (row: ListedRow, now: number): boolean => !hasEnded(row) && !isHeld(row, now);

export function summaryOf(row: ListedRow, at: ReadAt): Summary {
  const { run, agentVersion, status, phase, version, epoch, takeovers } = row;
  const { createdAt, statusSince, lastCheckpointAt } = row;
  const { microUsd, tokensIn, tokensOut, beats }: Spent = row.spent;
  const spent = { usd: Number(usd(microUsd)), tokensIn, tokensOut };
  const inProgress = !hasEnded(row);
  return {
    ...namesOf(row),
    agentVersion,
    status,
    phase,
    inProgress,
    resumable: isResumable(row, at.now),
    version,
    epoch,
    beats,
    takeovers,
    labels: row.brief?.labels ?? {},
    parent: row.parent?.run ?? null,
    ...callUnderWay(row, at),
    createdAt,
    statusSince,
    lastCheckpointAt,
    wakeAt: row.wakeAt,
    ready: isReady(row, at.now),
    storeOutage: row.storeOutage,
    spent,
    budget: budgetMeters(row.brief?.limits ?? {}, row.spent),
    signals: CRACK_NAMES.filter((name) => row.brief?.cracks.includes(name)),
    isScheduled: row.brief?.isScheduled ?? false,
    restored: shownRestored(row),
    ...(newerBy(run, row) === null ? {} : { needsNewer: true }),
  };
}
