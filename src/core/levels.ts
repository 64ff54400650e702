/**
 * Levels: what a process must know before it may continue a run. Within one format every reader keeps unknown fields,
 * so most additions need no level. A new event, phase, kind of message or meter needs one: older code cannot apply it.
 *
 * The first commit that uses such a feature raises the level of its run, and nothing lowers it. A process with a lower
 * level leaves the run to a newer process. Otherwise it would write a state without the part that it could not read.
 */
import type { Event } from "./event.ts";
import type { State } from "./state.ts";

/** The content of one commit. */
export interface Written {
  readonly state: State;
  /** The events that this commit adds. */
  readonly events: readonly Event[];
  /** The journal that it leaves: one text or none, a list of parts, or parts that releases leave too. */
  readonly journal?: "whole" | "inParts" | "ofBeats";
}

export interface Level {
  readonly level: number;
  /** What a process of this level knows in addition, for humans. */
  readonly adds: string;
  readonly isUsedBy: (written: Written) => boolean;
}

const isOfWaits = (event: Event): boolean =>
  event.kind === "WaitBegun" ||
  event.kind === "InputRefused" ||
  event.kind === "InputIgnored" ||
  (event.kind === "MessageAbsorbed" &&
    event.stage === "taken" &&
    (event.body.kind === "answer" || event.body.kind === "signal"));

const isOfFiles = (event: Event): boolean =>
  (event.kind === "MessageAbsorbed" && event.stage === "taken" && event.body.kind === "userFiles") ||
  (event.kind === "ModelCallCompleted" && event.parts.some(({ kind }) => kind === "file")) ||
  (event.kind === "ToolResultRecorded" && event.files !== undefined) ||
  (event.kind === "ToolResultReconciled" && event.answer.files !== undefined);

const isOfSummaries = (event: Event): boolean =>
  event.kind === "ResultSummarised" ||
  (event.kind === "RecoveryDecided" && event.action.kind === "compact" && event.action.failed !== undefined);

const isOfDetachedCalls = ({ kind }: Event): boolean =>
  kind === "DetachedCallBegun" || kind === "DetachedCallSubmitted" || kind === "DetachedCallEnded";

/** One line per level, in order. A new feature that older code cannot apply adds the next level. */
export const LEVELS: readonly [Level, ...Level[]] = [
  { level: 1, adds: "everything that format 1 began with", isUsedBy: () => true },
  {
    level: 2,
    adds: "topologies besides ReAct, and first signals that the state remembers",
    isUsedBy: ({ state: { topology, cracks } }) => topology !== undefined || cracks !== undefined,
  },
  {
    level: 3,
    adds: "child runs that a run dispatches, the grant of a child, and deadlines of runs",
    isUsedBy: ({ state, events }) =>
      state.children.length > 0 ||
      state.grant !== undefined ||
      state.deadline !== undefined ||
      events.some(({ kind }) => kind === "ChildDispatched"),
  },
  {
    level: 4,
    adds: "before-images, without which a probe would take an older change for that of its call, and idempotent calls",
    isUsedBy: ({ state, events }) =>
      state.open.some(({ before, intent }) => before !== undefined || intent?.effect === "idempotent") ||
      events.some(
        (event) =>
          (event.kind === "ToolInvoked" && event.before !== undefined) ||
          (event.kind === "ToolIntended" && event.effect === "idempotent"),
      ),
  },
  {
    level: 5,
    adds: "journals in parts, which a table may keep beside the row",
    isUsedBy: ({ journal }) => journal === "inParts" || journal === "ofBeats",
  },
  {
    level: 6,
    adds: "calls that wait for an answer, an event or a time, events that are kept for them, and gates beside children",
    isUsedBy: ({ state, events }) =>
      (state.children.length > 0 && events.some(({ kind }) => kind === "ApprovalRequested")) ||
      state.signals !== undefined ||
      state.open.some(({ wait }) => wait !== undefined) ||
      events.some(isOfWaits),
  },
  {
    level: 7,
    adds: "rows in several shards of an index, which no commit uses by itself",
    isUsedBy: () => false,
  },
  {
    level: 8,
    adds: "files in tasks, messages and results",
    isUsedBy: ({ state, events }) =>
      events.some(isOfFiles) || state.messages[0]?.parts.some(({ kind }) => kind === "file") === true,
  },
  {
    level: 9,
    adds: "journals of many beats, which the embedded store keeps beside the row",
    isUsedBy: ({ journal }) => journal === "ofBeats",
  },
  {
    level: 10,
    adds: "forks, whose calls are counted after those of the run that they come from",
    isUsedBy: ({ state }) => state.forked !== undefined,
  },
  {
    level: 11,
    adds: "a model of its own for summaries that failed, jobs of asynchronous models, what runs recall from memory and learn, and summaries of results",
    isUsedBy: ({ state, events }) =>
      state.failedSummaries !== undefined ||
      state.detachedCall !== undefined ||
      state.memory !== undefined ||
      events.some((event) => isOfSummaries(event) || isOfDetachedCalls(event)),
  },
];

/**
 * The level of a row in a later shard of a table's index (`adapters/aws/table/item.ts`). Only the row has it, because the
 * row may move back.
 */
export const SHARDS_LEVEL = 7;

/** The level of a row or snapshot that names none. */
export const LOWEST_LEVEL = 1;

/** The level of this code. */
export const LEVEL: number = Math.max(...LEVELS.map(({ level }) => level));

/** The lowest level that can read this commit. */
export const neededLevel = (written: Written, levels: readonly Level[] = LEVELS): number =>
  Math.max(...levels.map(({ level, isUsedBy }) => (isUsedBy(written) ? level : LOWEST_LEVEL)));

/** The level of a stored row or snapshot. It is recorded only where it is above the lowest. */
export const levelIn = ({ level = LOWEST_LEVEL }: { readonly level?: number }): number => level;
