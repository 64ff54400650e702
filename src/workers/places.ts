/**
 * The places of a worker process for beats that act. A beat that only waits for its model has none, so that many runs can
 * wait at the same time. When the reply comes, the beat takes a place again before it goes on.
 *
 * Without places, the replies of 200 runs could come at once, and the tools of all of them would run at the same time.
 * The end of the process would take all these calls along.
 */
import type { Clock } from "../ports/world.ts";

export interface BeatPlaces {
  /** Sets how many there are. */
  readonly allow: (count: number) => void;
  /** Takes a place at once for a new task. The supervisor knows of a free one, or did when it sent the task. */
  readonly take: () => void;
  readonly leave: () => void;
  /**
   * Resolves with a place once one is free, first come, first served. After `ms` milliseconds, or once `hurry` fires, it
   * takes one in any case: then there is only time to commit.
   */
  readonly takeAgain: (ms: number, hurry: AbortSignal) => Promise<void>;
}

export function createPlaces(clock: Clock): BeatPlaces {
  const waiting = new Set<() => void>();
  let [count, taken] = [1, 0];
  const takeNext = (): void => {
    while (taken < count) {
      const [next] = waiting;
      if (next === undefined) return;
      next();
    }
  };
  return {
    allow: (now) => {
      count = now;
      takeNext();
    },
    take: () => {
      taken += 1;
    },
    leave: () => {
      taken -= 1;
      takeNext();
    },
    takeAgain: (ms, hurry) =>
      new Promise((resolve) => {
        const enter = (): void => {
          forget();
          hurry.removeEventListener("abort", enter);
          waiting.delete(enter);
          taken += 1;
          resolve();
        };
        const forget = clock.after(Math.max(0, ms), enter);
        hurry.addEventListener("abort", enter, { once: true });
        waiting.add(enter);
        if (hurry.aborted) enter();
        else takeNext();
      }),
  };
}
