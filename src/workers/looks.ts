/**
 * When a supervisor looks for work, and when it sweeps. While there is work it polls, so that it needs no word of what
 * other processes write. Once nothing was out and nothing was due for a while, it sleeps until the next thing is due,
 * and wakes when the store says that a file of it changed. What such a word misses, the next look finds.
 */
import type { SweepsSeen } from "../ports/supervision.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Clock } from "../ports/world.ts";
import type { TaskEnd } from "./worker-process.ts";
import type { Pool, Taken } from "./workers.ts";

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

/**
 * From when a supervisor sweeps and cleans up. One that finds ready work at its start leaves its processes to that first: a
 * sweep of all live runs at once would need a process of its own, and a command that waits for one run would wait for the sweep
 * too. So it begins some time after a first beat is over, however long a process takes to start on this machine.
 */
export interface HouseHours {
  /** The supervisor looks for work. The first look counts. */
  readonly look: (isWorkReady: () => boolean) => void;
  /** A beat is over, or its process. */
  readonly onBeatOver: () => void;
  /** Epoch milliseconds; 0: now. */
  readonly from: () => number;
}

/** How long after the first beat. */
const BEATS_FIRST_MS = 2_000;
/** The latest, after the first look: the first beat may wait for its model. */
const FIRST_BEAT_MS = 20_000;

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

const SWEEP_EVERY_MS = 60_000;

interface SweeperOptions {
  readonly clock: Pick<Clock, "now">;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** A sweep ended, so there may be work. */
  readonly onProgress: () => void;
}

export function sweeper({ clock, onEvent, onProgress }: SweeperOptions, pool: Pick<Pool<Taken>, "run">) {
  let dueAt = 0;
  let isOut = false;
  let last: Pick<SweepsSeen, "lastAt" | "judged"> = { lastAt: null, judged: null };
  return {
    /** `from`: when the first one may begin. */
    seen: (from: number): SweepsSeen => ({ ...last, nextAt: Math.max(dueAt, from) }),
    isDue: (): boolean => !isOut && clock.now() >= dueAt,
    dueAt: (): number => dueAt,
    start: (worker: Taken): void => {
      isOut = true;
      dueAt = clock.now() + SWEEP_EVERY_MS;
      const onEnd = (end: TaskEnd): void => {
        isOut = false;
        const judged = end.kind === "answered" && end.answer.kind === "sweep" ? (end.answer.judged ?? null) : null;
        last = { lastAt: clock.now(), judged };
        if (end.kind === "failed") onEvent({ kind: "sweepFailed", how: end.how, error: end.error });
        onProgress();
      };
      pool.run(worker, { task: { kind: "sweep" }, onEnd });
    },
  };
}
