/** What a commit of an active run asks of the table: everything about it but its objects. */
import type { EventKind } from "../../core/event.ts";
import { mayCallModel } from "../../core/calls/model-calls.ts";
import { PHASES, isTerminal } from "../../core/phases.ts";
import type { Commit, StoreOutage } from "../../protocol/row.ts";
import type { RunParts } from "./run-parts.ts";

export interface CommitOptions {
  /** The invocation ends with this commit. */
  readonly release: boolean;
  /** Until when the run waits, for people and the sweeper. */
  readonly wakeAt?: number | null;
  /** Until when it may wait at all; counted from the commit unless told. */
  readonly deadline?: number;
  /** Refuse if a message came since the inbox was read. */
  readonly unlessStirred?: boolean;
  /** The run moves to the next execution of its chain. */
  readonly nextChain?: boolean;
  /** This end needs no notification. */
  readonly expiresAtSec?: number | null;
  /** A store does not answer: what was decided goes into the journal, and no object is stored. */
  readonly storeOutage?: StoreOutage;
}

/** What a process that dies over and over never comes to: it ends the count of deaths. */
const PROGRESS: ReadonlySet<EventKind> = new Set([
  "ModelCallCompleted",
  "Compacted",
  "ToolResultRecorded",
  "ToolCompensated",
  "ToolResultReconciled",
]);

export function commitRequest(
  run: RunParts,
  options: CommitOptions,
  content: Pick<Commit, "snapshot" | "journal" | "level">,
): Commit {
  const { row, state, pending, noticed, world, now } = run;
  const { phase } = state;
  const isAhead = !options.release && mayCallAgain(run);
  return {
    run: row.run,
    born: row.born,
    now,
    epoch: row.epoch,
    version: row.version,
    wakeAt: null,
    unlessStirred: false,
    nextChain: false,
    expiresAtSec: null,
    deadline: now + world.limits.idleRunMs,
    ...options,
    ...content,
    commitId: world.random.hex().slice(0, 16),
    agentVersion: state.agentVersion,
    spent: state.spent,
    phase,
    status: PHASES[phase].status,
    stirsSeen: noticed.wakeCountRead,
    asks: (pending.modelCalls.own === "left" ? 1 : 0) + (isAhead ? 1 : 0),
    will: mayCallModel(state) ? 1 : 0,
    isProgress: pending.events.some(({ kind }) => PROGRESS.has(kind)),
    storeOutage: options.storeOutage ?? null,
    lastCheckpointAt: options.storeOutage !== undefined && pending.events.length === 0 ? row.lastCheckpointAt : now,
    raiseQuiet: noticed.outlived === "tool",
  };
}

/**
 * After this commit the invocation may call its model without another one: at once, or when the calls of tools that come
 * first are over and it has replies left (schedule 67).
 */
function mayCallAgain({ state, noticed, world }: RunParts): boolean {
  const isAnotherBeat = Math.max(1, noticed.beats) < world.limits.beatsPerInvocation;
  return mayCallModel(state) || (isAnotherBeat && state.ending === null && !isTerminal(state.phase));
}
