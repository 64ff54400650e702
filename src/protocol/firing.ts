/**
 * Firings: cairn starts an agent at the times of its schedule. A scheduler may fire twice, late, out of order or twice
 * at once, so this file decides what a firing does, from what its schedule remembers. That memory is the cursor of a
 * mutex lease, so that only one firing of a schedule is decided at a time.
 */
import type { RunFiring } from "../core/run-firing.ts";
import { TIMES } from "./limits.ts";

/** The newest firing of a schedule that was decided. Times are epoch milliseconds. */
export interface LastFiring {
  /** The time for which it was scheduled. */
  readonly at: number;
  readonly decidedAt: number;
  /**
   * The run that the schedule started last, or is about to start, by this firing or an earlier one; null before the
   * first.
   */
  readonly run: string | null;
  /**
   * `starting`: a run is due, and the process that decided so may have died before it started one. `passed`: none is
   * due.
   */
  readonly stage: "starting" | "started" | "passed";
  /** The expression and time zone of the schedule at that firing. */
  readonly of: string;
  /** The firing that started `run`, as that run knows it; absent before the first. */
  readonly firing?: RunFiring;
}

/** One firing as the scheduler reports it. */
export interface Firing {
  /** The time for which it is scheduled. */
  readonly at: number;
  readonly now: number;
  readonly of: string;
  /** False: the scheduler was not running at that time, and does not know whether the schedule existed. */
  readonly watched: boolean;
  readonly overlap: "skip" | "allow";
  readonly missed: "latest" | "skip";
}

/** The outcome of a firing. */
export type FiringOutcome =
  | { readonly kind: "started"; readonly run: string }
  /** An earlier firing for the same time started this run. */
  | { readonly kind: "exists"; readonly run: string }
  /** The run that the schedule started last has not ended. */
  | { readonly kind: "skipped"; readonly run: string }
  /** An operator paused the schedule. */
  | { readonly kind: "paused"; readonly by: string }
  /** An earlier decision says that this firing starts nothing, or a newer firing was decided. */
  | { readonly kind: "late" }
  /** The scheduler did not fire in time, and the schedule does not make up for that. */
  | { readonly kind: "missed" }
  /** The schedule was not known at that time; it is from now on. */
  | { readonly kind: "unseen" }
  /** Another firing of the schedule is being decided, until then at most. */
  | { readonly kind: "held"; readonly until: number };

/** What `judged` decides about a firing. */
export type FiringVerdict =
  /** Start its run, unless overlap is refused and the last run has not ended. */
  | { readonly kind: "due" }
  /** Start its run under its key and remember nothing, since a newer firing was decided. */
  | { readonly kind: "aside" }
  | { readonly kind: "exists"; readonly run: string }
  | { readonly kind: "late" | "missed" | "unseen" };

/** A firing that is later than this is missed. The scheduler's retries take less time. */
export const LATE_MS = 5 * 60_000;

/**
 * The key of an ended run is kept for at least this long, so a key that is free now has named no run in that time. An
 * older firing may have had a run whose key is free again, and that run must not start twice.
 */
export const CERTAIN_MS = TIMES.keyMsMin;

/** A decision of a clock that is further ahead than this does not hold up later firings. */
const AHEAD_MS = 3_600_000;

/**
 * Decides about one firing. The caller has first completed a `last` that was `starting`. Two deliveries of one firing
 * get the same verdict. An older firing does not start over a newer one, except where runs may overlap.
 */
export function decideFiring(last: LastFiring | null, firing: Firing): FiringVerdict {
  const { at, now, watched, overlap, missed } = firing;
  if (last?.at === at && last.run !== null && last.stage !== "passed") return { kind: "exists", run: last.run };
  if (last?.at === at) return { kind: "late" };
  if (!watched && last?.of !== firing.of) return { kind: "unseen" };
  if (missed === "skip" && now - at > LATE_MS) return { kind: "missed" };
  if (last === null || last.at < at || isFromAhead(last, now)) return { kind: "due" };
  return overlap === "allow" && now - at < CERTAIN_MS ? { kind: "aside" } : { kind: "late" };
}

/** Whether the scheduler missed the time, so that its run makes up for it. */
export const isMadeUp = ({ at, now, watched }: Pick<Firing, "at" | "now" | "watched">): boolean =>
  now - at > (watched ? LATE_MS : 0);

/** A clock that ran ahead decided this firing. It must not hold up all firings until that time has come. */
const isFromAhead = (last: LastFiring, now: number): boolean => last.at > now + AHEAD_MS;
