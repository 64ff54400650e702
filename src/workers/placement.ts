/**
 * Decides which worker process gets a task. A beat mostly waits for its model, so one process runs the beats of several
 * runs at once. They are runs of one agent, since what a tool does to its process affects all of them.
 *
 * A run goes to the worker that had it last, which may have its state in memory.
 *
 * Schedule 141: one of 16 beats kills their process, and the run of each counts a death; five times, and 16 runs end as
 * crash loops although one is to blame. So a death counts only for a task that was alone.
 *
 * Schedule 245: one of 16 beats kills their process, and again when it is tried again; each time the others were in calls
 * that nothing can repeat (`unsafe`), and wait for an operator. So a run whose process died runs its next beat alone, and
 * shares a process again once that is committed. A store that did not answer is no death, and some of its retries share.
 *
 * Schedule 246: the first run of new code ends its process, with 15 runs in it. So a process that has loaded code which
 * never completed a beat on this machine has one task, until a beat of that code is committed.
 *
 * More agents than places: an agent keeps its process for its turn, as long as it has tasks that are ready. After that
 * the process that has served its agent for longest is closed for an agent that waits. Without turns, each task would
 * close the process of another agent, and most of the time would go into starting processes.
 */

/** What placement knows of a worker process. */
export interface Place {
  /** The agent whose code it runs; null if no agent's code was ever loaded in it. */
  readonly agent: string | null;
  /** The tasks that it has. */
  readonly tasks: number;
  /** Those of them that wait for their model, and act in no other way. */
  readonly waiting: number;
  /** How many its tasks allow to act at the same time. */
  readonly most: number;
  /** Its memory is short, so it gets no more tasks than `TASKS_IN_SHORT_MEMORY`. */
  readonly isHeavy: boolean;
  /** It gets no more tasks, and is replaced once it has none. */
  readonly isClosing: boolean;
  /** It may have loaded code that has not completed a beat on this machine. */
  readonly isNew?: boolean;
  /** It had no task in the whole round before this one either: its agent has none that is ready. */
  readonly wasIdle: boolean;
  /** How long it has been ready for its agent, in milliseconds; 0 before it is ready. */
  readonly servedMs: number;
  /** Whether it had that execution before. */
  readonly knows: (execution: string) => boolean;
}

/** A task that needs a worker. */
export interface Wish {
  /** Null: no agent's code may ever have been loaded in the process. */
  readonly agent: string | null;
  /** Null: the task belongs to no execution. */
  readonly execution: string | null;
  /** The failures of the same attempt before this one. */
  readonly failures: number;
  /** The last failure was a store that did not answer. Absent: its process died, or may have. */
  readonly isOutage?: boolean;
}

export interface Bounds {
  /** Processes that share the beats of all runs. */
  readonly workers: number;
  readonly beatsPerWorker: number;
  /** Another agent waits for its first process. A place that becomes free is for it, and not for a second one. */
  readonly othersWait?: boolean;
}

/**
 * `spawn`: a new process, in the place of an idle one if named. `full`: the task has to wait; `closing` names a process
 * that must get no more tasks, so that its place becomes free.
 */
export type Placement<P> =
  | { readonly kind: "use"; readonly place: P }
  | { readonly kind: "spawn"; readonly replaced: P | null }
  | { readonly kind: "full"; readonly closing: P | null };

/**
 * Processes beyond `workers`, for tasks that cannot share one: retries, housekeeping, and an agent without a process.
 * Without them, such a task would wait until all beats of a process have ended.
 */
export const SPARE_PLACES = 3;

const TASKS_IN_SHORT_MEMORY = 16;

/** How many tasks may share the process of a task that failed so often. */
export function mostFor(
  { failures, isOutage = false }: Pick<Wish, "failures" | "isOutage">,
  { beatsPerWorker }: Pick<Bounds, "beatsPerWorker">,
): number {
  if (failures === 0) return beatsPerWorker;
  return failures === 1 && isOutage ? Math.max(1, Math.floor(beatsPerWorker / 8)) : 1;
}

/**
 * How many tasks a process may have together with those that wait for their model, if that many may act. A wait costs
 * memory, and a paid reply if the process ends. A task that shares its process with none does not share it with waits.
 */
const ALL_MAX = 1_024;
const WAITING_PER_PLACE = 15;

/** How long a process serves its agent before others may have its place: some ten times what a process takes to start. */
export const TURN_MS = 3_000;

/** Decides where the task runs. `places` holds each process that takes up a place. */
export function placeFor<P extends Place>(places: readonly P[], wish: Wish, bounds: Bounds): Placement<P> {
  const open = places.filter(({ isClosing }) => !isClosing);
  const ofAgent = open.filter(({ agent }) => agent === wish.agent);
  const most = mostFor(wish, bounds);
  const fit = ofAgent.filter((each) => each.tasks === 0 || (each.most === most && hasRoom(each, bounds)));
  const known = fit.find(({ knows }) => wish.execution !== null && knows(wish.execution));
  const idle = fit.find(({ tasks }) => tasks === 0) ?? unused(open, { places, bounds });
  const first = known ?? idle;
  if (first !== undefined) return { kind: "use", place: first };
  const isSecond = ofAgent.length > 0 && bounds.othersWait === true;
  if (places.length < bounds.workers && !isSecond) return { kind: "spawn", replaced: null };
  const [shared] = fit.toSorted((one, other) => one.tasks - other.tasks);
  if (shared !== undefined) return { kind: "use", place: shared };
  const isUnshared = wish.failures > 0 || ofAgent.length === 0;
  const replaced = open.find((each) => each.tasks === 0 && !isInItsTurn(each));
  if (replaced !== undefined && (isUnshared || (places.length <= bounds.workers && !isSecond)))
    return { kind: "spawn", replaced };
  if (isUnshared && places.length < placesMax(bounds)) return { kind: "spawn", replaced: null };
  return { kind: "full", closing: isUnshared ? longestServing(places, bounds) : null };
}

/** Whether the idle process may be about to get a task of its agent, which has not had it for long. */
const isInItsTurn = ({ agent, wasIdle, servedMs }: Place): boolean => agent !== null && !wasIdle && servedMs < TURN_MS;

/** Whether one more task may act in the process, and its memory may hold one more. */
function hasRoom({ tasks, waiting, most, isHeavy, isNew = false }: Place, { beatsPerWorker }: Bounds): boolean {
  if (isNew) return false;
  const isShared = most > 1 && most === beatsPerWorker;
  const all = isShared ? Math.max(most, Math.min(most * (1 + WAITING_PER_PLACE), ALL_MAX)) : most;
  return tasks - waiting < most && tasks < (isHeavy ? Math.min(most, TASKS_IN_SHORT_MEMORY) : all);
}

/** How many more beats of its agent may act in the process now. */
export function freeIn({ tasks, waiting, most, isClosing, isNew = false }: Place, { beatsPerWorker }: Bounds): number {
  if (isClosing) return 0;
  if (isNew) return tasks === 0 ? 1 : 0;
  return tasks === 0 ? beatsPerWorker : Math.max(0, most - (tasks - waiting));
}

/**
 * Whether an idle process of an agent takes up a place that is kept for tasks that cannot share one. A process that only
 * kept house keeps its place, for the next time.
 */
export const isSurplus = (
  place: Place,
  pool: { readonly places: readonly Place[]; readonly workers: number },
): boolean =>
  place.tasks === 0 && place.agent !== null && pool.places.filter(({ agent }) => agent !== null).length > pool.workers;

/** The most processes at once. With one beat per process each of them becomes idle soon, so no spare ones are needed. */
export const placesMax = ({ workers, beatsPerWorker }: Bounds): number =>
  beatsPerWorker === 1 ? workers : workers + SPARE_PLACES;

/** An idle process without an agent, which any agent may take unless its place is a spare one. */
function unused<P extends Place>(
  open: readonly P[],
  pool: { readonly places: readonly P[]; readonly bounds: Bounds },
): P | undefined {
  if (pool.places.length > pool.bounds.workers) return undefined;
  return open.find(({ agent, tasks }) => agent === null && tasks === 0);
}

/**
 * The process to close, which has served its agent for longest; null while no turn is over, or while a place becomes free
 * by itself, since a process closes or keeps house.
 */
function longestServing<P extends Place>(places: readonly P[], { beatsPerWorker }: Bounds): P | null {
  if (places.some(({ isClosing, agent }) => isClosing || agent === null)) return null;
  const [longest] = places
    .filter(({ most, servedMs }) => most === beatsPerWorker && servedMs >= TURN_MS)
    .toSorted((one, other) => other.servedMs - one.servedMs);
  return longest ?? null;
}
