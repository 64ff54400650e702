/**
 * Decides which worker process gets a task. A beat mostly waits for its model, so one process runs the beats of several
 * runs at once. They are runs of one agent, since what a tool does to its process affects all of them.
 *
 * A run goes to the worker that had it last, which may have its state in memory. A retry runs alone in a process.
 *
 * Schedule 141: one of 16 beats kills their process, and the run of each counts a death; five times, and 16 runs end as
 * crash loops although one is to blame. So a death counts only for a task that was alone. The retry of an attempt runs
 * alone, so a run that kills its process again is found.
 */

/** What placement knows of a worker process. */
export interface Place {
  /** The agent whose code it runs; null if no agent's code was ever loaded in it. */
  readonly agent: string | null;
  /** The tasks that it has. */
  readonly tasks: number;
  /** Its task must have no neighbours. */
  readonly isAlone: boolean;
  /** It gets no more tasks, and is replaced once it has none. */
  readonly isClosing: boolean;
  /** Whether it had that execution before. */
  readonly knows: (execution: string) => boolean;
}

/** A task that needs a worker. */
export interface Wish {
  /** Null: no agent's code may ever have been loaded in the process. */
  readonly agent: string | null;
  /** Null: the task belongs to no execution. */
  readonly execution: string | null;
  readonly isAlone: boolean;
}

export interface Bounds {
  /** Processes that share the beats of all runs. */
  readonly workers: number;
  readonly beatsPerWorker: number;
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

/** Decides where the task runs. `places` holds each process that takes up a place. */
export function placeFor<P extends Place>(places: readonly P[], wish: Wish, bounds: Bounds): Placement<P> {
  const open = places.filter(({ isClosing }) => !isClosing);
  const ofAgent = open.filter(({ agent }) => agent === wish.agent);
  const most = wish.isAlone ? 1 : bounds.beatsPerWorker;
  const fit = ofAgent.filter(({ isAlone, tasks }) => tasks === 0 || (!isAlone && tasks < most));
  const known = fit.find(({ knows }) => wish.execution !== null && knows(wish.execution));
  const idle = fit.find(({ tasks }) => tasks === 0) ?? unused(open, { places, bounds });
  const first = known ?? idle;
  if (first !== undefined) return { kind: "use", place: first };
  if (places.length < bounds.workers) return { kind: "spawn", replaced: null };
  const [shared] = fit.toSorted((one, other) => one.tasks - other.tasks);
  if (shared !== undefined) return { kind: "use", place: shared };
  const isUnshared = wish.isAlone || ofAgent.length === 0;
  const replaced = open.find(({ tasks }) => tasks === 0);
  if (replaced !== undefined && (isUnshared || places.length <= bounds.workers)) return { kind: "spawn", replaced };
  if (isUnshared && places.length < placesMax(bounds)) return { kind: "spawn", replaced: null };
  return { kind: "full", closing: isUnshared ? leastBusy(places) : null };
}

/** Whether an idle process of an agent takes up a place that is kept for tasks that cannot share one. */
export const isSurplus = (place: Place, of: { readonly places: number; readonly workers: number }): boolean =>
  place.tasks === 0 && place.agent !== null && of.places > of.workers;

/** The most processes at once. With one beat per process each of them becomes idle soon, so no spare ones are needed. */
const placesMax = ({ workers, beatsPerWorker }: Bounds): number =>
  beatsPerWorker === 1 ? workers : workers + SPARE_PLACES;

/** An idle process without an agent, which any agent may take unless its place is a spare one. */
function unused<P extends Place>(
  open: readonly P[],
  of: { readonly places: readonly P[]; readonly bounds: Bounds },
): P | undefined {
  if (of.places.length > of.bounds.workers) return undefined;
  return open.find(({ agent, tasks }) => agent === null && tasks === 0);
}

/** The process to close; null while another one is closing, which frees a place too. */
function leastBusy<P extends Place>(places: readonly P[]): P | null {
  if (places.some(({ isClosing }) => isClosing)) return null;
  const [least] = places.filter(({ isAlone }) => !isAlone).toSorted((one, other) => one.tasks - other.tasks);
  return least ?? null;
}
