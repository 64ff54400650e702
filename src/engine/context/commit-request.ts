/** The request of a commit to the table: all of its fields except the objects that it names. */
import type { Event, EventKind } from "../../core/event.ts";
import { callsModelNext } from "../../core/calls/model-calls.ts";
import { statusOf } from "../../core/calls/open-calls.ts";
import { isTerminal } from "../../core/phases.ts";
import { durableAt } from "../../core/policy/durability.ts";
import type { Commit, StoreOutage } from "../../protocol/row.ts";
import { briefOf } from "./brief.ts";
import { beatsIn } from "./next.ts";
import { type RunParts, beatsMaxOf } from "./run-parts.ts";

/** How the run is committed; the caller decides these. */
export interface CommitOptions {
  /** The commit also releases the run: the invocation ends with it. */
  readonly release: boolean;
  /** Until when the run waits, in epoch milliseconds. Operators and the sweeper read it. */
  readonly wakeAt?: number | null;
  /** The latest time until which the run may wait. The default counts from the time of this commit. */
  readonly deadline?: number;
  /** Refuse the commit if a message came since the inbox was read. */
  readonly unlessWoken?: boolean;
  /** Move the run to the next execution of its chain (continue-as-new). */
  readonly nextChain?: boolean;
  /** When the row's time to live is over, in epoch seconds. Set only for an end that needs no notification. */
  readonly expiresAtSec?: number | null;
  /** A store does not answer. The events go into the journal, and no object is stored. */
  readonly storeOutage?: StoreOutage;
}

/**
 * Events that count as progress. A commit with one of them resets `Row.deaths`, because a process that dies repeatedly
 * never gets that far.
 */
const PROGRESS: ReadonlySet<EventKind> = new Set([
  "ModelCallCompleted",
  "DetachedCallSubmitted",
  "Compacted",
  "ResultSummarised",
  "ToolResultRecorded",
  "ToolCompensated",
  "ToolResultReconciled",
]);

/** Another try forgets the deaths before it, since their number is used up. */
const isProgress = (event: Event): boolean =>
  PROGRESS.has(event.kind) || (event.kind === "RecoveryDecided" && event.action.kind === "tryAgain");

/** Whether the next beat of the run is due as soon as this commit releases it. */
export const isHandedOn = ({ release, wakeAt, nextChain, storeOutage }: CommitOptions): boolean =>
  release && wakeAt === null && nextChain !== true && storeOutage === undefined;

/** Builds the request from the run, the options of the caller, and the stored content. */
export function commitRequest(
  run: RunParts,
  options: CommitOptions,
  content: Pick<Commit, "snapshot" | "journal" | "level">,
): Commit {
  const { row, state, pending, noticed, terms, world, now } = run;
  const { phase } = state;
  const isAhead = !options.release && mayCallAgain(run);
  const asks = (pending.modelCalls.own === "left" ? 1 : 0) + (isAhead ? 1 : 0);
  return {
    run: row.run,
    born: row.born,
    now,
    epoch: row.epoch,
    version: row.version,
    wakeAt: null,
    unlessWoken: false,
    nextChain: false,
    expiresAtSec: null,
    deadline: now + world.limits.idleRunMs,
    ...options,
    ...content,
    commitId: world.random.hex().slice(0, 16),
    agentVersion: state.agentVersion,
    spent: state.spent,
    phase,
    status: statusOf(state),
    wakeCountSeen: pending.wakeCountRead,
    unaccountedModelCalls: asks,
    marksAtClaim: callsModelNext(state) ? 1 : 0,
    isProgress: pending.events.some(isProgress),
    storeOutage: options.storeOutage ?? null,
    lastCheckpointAt: options.storeOutage !== undefined && pending.events.length === 0 ? row.lastCheckpointAt : now,
    durable: durableAt(state, { modelCalls: asks, isHandedOn: isHandedOn(options), release: options.release }),
    raiseEffectsSettleAt: noticed.outlived === "tool",
    brief: briefOf(state, { budget: terms?.budget ?? null, before: row.brief }),
  };
}

/**
 * Whether this invocation may call its model after this commit without another commit in between. It may do so at once,
 * or after the released tool calls if it has beats left. Then this commit has to make the mark for that call (schedule
 * 67).
 */
function mayCallAgain(run: RunParts): boolean {
  const { state, seen } = run;
  const isAnotherBeat = Math.max(1, beatsIn(seen)) < beatsMaxOf(run);
  return callsModelNext(state) || (isAnotherBeat && state.ending === null && !isTerminal(state.phase));
}
