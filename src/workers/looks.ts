/**
 * When a supervisor looks for work. While there is work it polls, so that it needs no word of what other processes write. Once
 * nothing was out and nothing was due for a while, it sleeps until the next thing is due, and wakes when the store says
 * that a file of it changed. What such a word misses, the next look finds.
 */
import type { Clock } from "../ports/world.ts";

/** How often it polls for ready executions. A poll is an indexed read of some microseconds. */
const LOOK_EVERY_MS = 25;
/** How long it goes on polling after the last work. */
const AWAKE_MS = 2_000;
/** How long it sleeps at most: a file system may lose its word, and a schedule is due by the clock alone. */
const SLEEP_MS = 500;

export interface Looks {
  /** Looks once for all that ends at the same moment, so that their outcomes share a transaction. */
  readonly soon: () => void;
  readonly stop: () => void;
}

/**
 * Begins to look. `restsFor`: how long nothing that is known is due, in milliseconds; null while anything is out. `watch`:
 * calls back when the store may have changed; null if it cannot say so, and then the supervisor never sleeps.
 */
export function beginLooks({
  clock,
  look,
  restsFor,
  watch,
}: {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly look: () => void;
  readonly restsFor: () => number | null;
  readonly watch: (onChange: () => void) => (() => void) | null;
}): Looks {
  let takeBack = (): void => {};
  let [isStopped, isDue, isAsleep] = [false, false, false];
  let quietFrom: number | null = null;

  const soon = (): void => {
    if (isDue || isStopped) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      if (isStopped) return;
      look();
      if (isAsleep) again();
    });
  };
  const unwatch = watch(() => {
    if (isAsleep) soon();
  });
  // Where the store does not answer, the next look meets it, and waits for it or ends.
  const restsNow = (): number | null => {
    try {
      return restsFor();
    } catch {
      return null;
    }
  };
  const pauseMs = (): number => {
    const restMs = unwatch === null ? null : restsNow();
    if (restMs === null) quietFrom = null;
    else quietFrom ??= clock.now();
    isAsleep = restMs !== null && quietFrom !== null && clock.now() - quietFrom >= AWAKE_MS;
    return isAsleep ? Math.min(Math.max(restMs ?? 0, LOOK_EVERY_MS), SLEEP_MS) : LOOK_EVERY_MS;
  };
  const again = (): void => {
    takeBack();
    if (!isStopped) takeBack = clock.after(pauseMs(), lookForEver);
  };
  const lookForEver = (): void => {
    look();
    again();
  };
  takeBack = clock.after(0, lookForEver);
  return {
    soon,
    stop: () => {
      isStopped = true;
      takeBack();
      unwatch?.();
    },
  };
}
