/**
 * The supervisor: the one process of a store that drives its executions, by sending tasks to worker processes. This
 * file is its life, from taking the store to releasing it; `driver.ts` is its work.
 *
 * A store has one supervisor at a time. Two would end each other's attempts, and no run would make progress.
 */
import { ensure } from "../../../core/ensure.ts";
import type { Limits } from "../../../protocol/limits.ts";
import type { DrainPace, ScheduledAgent, Supervisor, WorkerOptions } from "../../../ports/supervision.ts";
import type { Clock } from "../../../ports/world.ts";
import { storeClock } from "../clock.ts";
import { clockWatch } from "../clock-watch.ts";
import type { Store } from "../store/database.ts";
import type { SupervisorEvent } from "../../../ports/supervisor-events.ts";
import type { Concurrency } from "./agent-caps.ts";
import { createDriver } from "./driver.ts";
import { type ProcessIdentity, identityOf } from "./process-identity.ts";
import { releaseSupervision, takeSupervision } from "./processes.ts";

export interface SupervisorOptions {
  readonly store: Store;
  readonly limits: Pick<Limits, "beatMs" | "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  readonly worker: WorkerOptions;
  /** Worker processes at once; 4 by default. */
  readonly workers?: number;
  /** Beats of one agent that a worker process runs at once; 1 by default. */
  readonly beatsPerWorker?: number;
  /** The most beats of an agent at once, by its name; no caps by default. */
  readonly concurrency?: Concurrency;
  /**
   * The schedules that it fires, as far as they are known; none by default. The same schedule must be the same object.
   */
  readonly schedules?: () => readonly ScheduledAgent[];
  /** The clock to use; by default the clock of the store. */
  readonly clock?: Clock;
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** How often it polls for ready executions. A poll is an indexed read of some microseconds. */
const LOOK_EVERY_MS = 25;
const DRAIN_MS = 8_000;

/** How a supervisor ends. `mistake` holds the error that stopped it, or nothing. */
interface Ending {
  readonly graceMs: number;
  readonly pace: DrainPace;
  readonly mistake?: readonly unknown[];
}

/**
 * Takes the store, and drives it until it is drained. Later problems of the store are reported as events.
 *
 * @throws StoreSupervised, StoreUnreachable
 */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const { store, onEvent } = options;
  const ofStore = storeClock(store);
  const { clock = ofStore, workers = 4, beatsPerWorker = 1, concurrency = {}, schedules = () => [] } = options;
  for (const [name, count] of Object.entries({ workers, beatsPerWorker }))
    ensure(Number.isSafeInteger(count) && count > 0, `${name} must be a positive whole number, not ${count}`);
  const self = identityOf(process.pid);
  ensure(self !== null, "this system does not report when a process started, so no pid can be trusted");
  takeSupervision(store, { self, now: clock.now() });

  const stopped = Promise.withResolvers<void>();
  // The caller may not await it; a rejection must not end the process then.
  stopped.promise.catch(() => {});
  let takeBack = (): void => {};
  let finished: Promise<void> | null = null;

  /** An error during the drain counts too. */
  const end = async ({ graceMs, pace, mistake = [] }: Ending): Promise<void> => {
    const late = await driver.drain(graceMs, pace).then(
      () => [],
      (error: unknown) => [error],
    );
    release(store, self);
    const all = [...mistake, ...late];
    if (all.length === 0) stopped.resolve();
    else stopped.reject(all[0]);
  };
  const finish = (ending: Ending): Promise<void> => {
    takeBack();
    return (finished ??= end(ending));
  };
  const look = (): void => {
    if (finished !== null) return;
    try {
      driver.work();
    } catch (error) {
      void finish({ graceMs: 0, pace: "hurry", mistake: [error] });
    }
  };
  let isLookDue = false;
  /** Looks once for all tasks that end at the same moment, so that their outcomes share a transaction. */
  const lookSoon = (): void => {
    if (isLookDue) return;
    isLookDue = true;
    setImmediate(() => {
      isLookDue = false;
      look();
    });
  };
  const lookForEver = (): void => {
    look();
    if (finished === null) takeBack = clock.after(LOOK_EVERY_MS, lookForEver);
  };
  const driver = createDriver({
    ...{ ...options, clock, workers, beatsPerWorker, concurrency, schedules, onProgress: lookSoon },
    followClock: clockWatch(ofStore, onEvent),
  });
  takeBack = clock.after(0, lookForEver);
  return {
    stopped: stopped.promise,
    drain: (graceMs = DRAIN_MS, pace = "hurry") => {
      // An error of this drain is one of the first drain, which reports it.
      if (finished !== null && pace === "hurry") driver.drain(graceMs, pace).catch(() => {});
      return finish({ graceMs, pace });
    },
  };
}

function release(store: Store, self: ProcessIdentity): void {
  try {
    releaseSupervision(store, self);
  } catch {
    // An unreachable store keeps this process as its supervisor. It blocks no other once this process is gone.
  }
}
