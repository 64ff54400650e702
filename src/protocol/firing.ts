/**
 * Firings: an agent is started by itself at the times of its schedule. Whoever fires may fire twice, late, out of order
 * and two at once; what a firing comes to is decided here, from what its schedule remembers. That is the cursor of a
 * turn, so that one firing of a schedule is decided at a time.
 */
import { TIMES } from "./limits.ts";

/** The newest firing of a schedule that was decided. Times are epoch milliseconds. */
export interface LastFiring {
  /** The time that it was scheduled for. */
  readonly at: number;
  readonly decidedAt: number;
  /** The run that the schedule started last, by this firing or an earlier one, or is about to start; null before the first. */
  readonly run: string | null;
  /** `starting`: a run is to be started, and whoever decided that may have died before it did. `passed`: none is. */
  readonly stage: "starting" | "started" | "passed";
  /** The expression and zone that it was a firing of. */
  readonly of: string;
}

export interface Firing {
  /** The time that it is scheduled for. */
  readonly at: number;
  readonly now: number;
  readonly of: string;
  /** False: whoever fires was not there at that time, and does not know whether the schedule was. */
  readonly watched: boolean;
  readonly overlap: "skip" | "allow";
  readonly missed: "latest" | "skip";
}

/** What a firing came to. */
export type FiringOutcome =
  | { readonly kind: "started"; readonly run: string }
  /** It was fired before: the same run. */
  | { readonly kind: "exists"; readonly run: string }
  /** That run, which the schedule started last, has not ended. */
  | { readonly kind: "skipped"; readonly run: string }
  /** It was decided before that it starts nothing, or a newer one was decided. */
  | { readonly kind: "late" }
  /** Nobody fired it in time, and the schedule does not make up for that. */
  | { readonly kind: "missed" }
  /** The schedule was not known at that time: from now on it is. */
  | { readonly kind: "unseen" }
  /** Another firing of the schedule is being decided, until then at most. */
  | { readonly kind: "held"; readonly until: number };

export type Verdict =
  /** Start its run, unless the last one is alive and that matters. */
  | { readonly kind: "due" }
  /** Start its run under its key, and remember nothing: a newer firing stands. */
  | { readonly kind: "aside" }
  | { readonly kind: "exists"; readonly run: string }
  | { readonly kind: "late" | "missed" | "unseen" };

/** A firing that is later than this was missed. The retries of whoever fires it take less. */
export const LATE_MS = 5 * 60_000;

/**
 * For so long at least the key of an ended run is kept: a key that is free now has named no run since. After that it
 * cannot be known, and a run must not be made twice.
 */
export const CERTAIN_MS = TIMES.keyMsMin;

/** A clock that is ahead by more than this binds no later firing. */
const AHEAD_MS = 3_600_000;

/**
 * `last` is not `starting` any more: what was decided before is done first. Of two deliveries of a firing both come to the same; of two firings the older one
 * does not start over the newer one.
 */
export function judged(last: LastFiring | null, firing: Firing): Verdict {
  const { at, now, watched, overlap, missed } = firing;
  if (last?.at === at && last.run !== null && last.stage !== "passed") return { kind: "exists", run: last.run };
  if (last?.at === at) return { kind: "late" };
  if (!watched && last?.of !== firing.of) return { kind: "unseen" };
  if (missed === "skip" && now - at > LATE_MS) return { kind: "missed" };
  if (last === null || last.at < at || isFromAhead(last, now)) return { kind: "due" };
  return overlap === "allow" && now - at < CERTAIN_MS ? { kind: "aside" } : { kind: "late" };
}

/** A clock that ran ahead decided it; it must not hold up all firings until that time has come. */
const isFromAhead = (last: LastFiring, now: number): boolean => last.at > now + AHEAD_MS;
