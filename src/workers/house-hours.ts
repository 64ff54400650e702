/**
 * From when a supervisor sweeps and cleans up. One that finds ready work at its start leaves its processes to that first: a
 * sweep of all live runs at once would need a process of its own, and a command that waits for one run would wait for the sweep
 * too. So it begins some time after a first beat is over, however long a process takes to start on this machine.
 */
import type { Clock } from "../ports/world.ts";

export interface HouseHours {
  /** The supervisor looks for work. The first look counts. */
  readonly look: (isWorkReady: () => boolean) => void;
  /** A beat is over, or its process. */
  readonly onBeatOver: () => void;
  /** Epoch milliseconds; 0: now. */
  readonly from: () => number;
}

/** How long after the first beat. */
export const BEATS_FIRST_MS = 2_000;
/** The latest, after the first look: the first beat may wait for its model. */
export const FIRST_BEAT_MS = 20_000;

export function houseHours(clock: Pick<Clock, "now">): HouseHours {
  let from: number | null = null;
  let isBeatOver = false;
  return {
    look: (isWorkReady) => {
      from ??= isWorkReady() ? clock.now() + FIRST_BEAT_MS : 0;
    },
    onBeatOver: () => {
      if (!isBeatOver) from = Math.min(from ?? 0, clock.now() + BEATS_FIRST_MS);
      isBeatOver = true;
    },
    from: () => from ?? 0,
  };
}
