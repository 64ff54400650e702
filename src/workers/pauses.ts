/** Pauses before what failed is tried again: a write that the store refused, or the start of a worker. */
import type { Clock } from "../ports/world.ts";

/** From 250 ms to 5 s, twice as long each time, until what failed has succeeded. */
export interface GrowingPause {
  /** There was none, or its time has passed. */
  readonly isOver: () => boolean;
  /** Begins the next one, and returns its length in milliseconds. */
  readonly begin: () => number;
  /** What failed has succeeded: the next pause is short again. False: there was none. */
  readonly end: () => boolean;
}

const PAUSE_MIN_MS = 250;
const PAUSE_MAX_MS = 5_000;

export function createGrowingPause(clock: Clock): GrowingPause {
  let ms = 0;
  let until = 0;
  return {
    isOver: () => ms === 0 || clock.now() >= until,
    begin: () => {
      ms = Math.min(Math.max(PAUSE_MIN_MS, ms * 2), PAUSE_MAX_MS);
      until = clock.now() + ms;
      return ms;
    },
    end: () => {
      const wasPaused = ms > 0;
      ms = 0;
      return wasPaused;
    },
  };
}

export interface SpawnPause {
  readonly isOver: () => boolean;
  /** The machine had no room. */
  readonly begin: (why: string) => void;
  /** A worker is ready, so there is room. */
  readonly end: () => void;
}

/**
 * Starts no worker for a while after the machine refused one, or after one could not begin for want of process IDs. The
 * workers that there are go on, and what they answer is stored meanwhile. A task that finds none of them waits.
 *
 * Schedule 240: a container without an init process runs out of process IDs, and workers die before they are ready. That
 * is the fault of the machine: no run is blamed, and the supervisor goes on as soon as there is room.
 */
export function createSpawnPause(options: {
  readonly clock: Clock;
  readonly onPause: (pause: { readonly why: string; readonly ms: number }) => void;
  readonly onEnd: () => void;
}): SpawnPause {
  const { clock, onPause, onEnd } = options;
  const pause = createGrowingPause(clock);
  return {
    isOver: pause.isOver,
    begin: (why) => {
      // Several workers may fail at once, for the same reason.
      if (pause.isOver()) onPause({ why, ms: pause.begin() });
    },
    end: () => {
      if (pause.end()) onEnd();
    },
  };
}
