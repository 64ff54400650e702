/**
 * The supervisor: the one process of a store that drives its executions, by handing tasks to child processes. This file
 * is its life, from taking the store to giving it free; `driver.ts` is its work.
 *
 * One at a time: of two, each would end the attempts of the other, and no run would get anywhere.
 */
import { ensure } from "../../core/ensure.ts";
import type { Limits } from "../../protocol/limits.ts";
import type { ScheduledAgent, Supervisor, WorkerOptions } from "../../ports/supervision.ts";
import type { Clock } from "../../ports/world.ts";
import { storeClock } from "./clock.ts";
import { clockWatch } from "./clock-watch.ts";
import type { Store } from "./database.ts";
import type { SupervisorEvent } from "../../ports/supervisor-events.ts";
import { createDriver } from "./driver.ts";
import { identityOf } from "./process-identity.ts";
import { releaseSupervision, takeSupervision } from "./processes.ts";

export interface SupervisorOptions {
  readonly store: Store;
  readonly limits: Pick<Limits, "beatMs" | "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  readonly worker: WorkerOptions;
  /** Children at once, 4 unless told. */
  readonly workers?: number;
  /** What it fires, as far as it is known; the same schedule is the same object. Nothing unless told. */
  readonly schedules?: () => readonly ScheduledAgent[];
  /** What it goes by: the clock of the store, unless told. */
  readonly clock?: Clock;
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** How often it looks for what is ready. A look is an indexed read of some microseconds. */
const LOOK_EVERY_MS = 25;
const DRAIN_MS = 8_000;

/**
 * Takes the store, and drives it until it is drained.
 *
 * @throws StoreSupervised, StoreUnreachable; what goes wrong with the store later is told by events
 */
export function startSupervisor(options: SupervisorOptions): Supervisor {
  const { store, onEvent } = options;
  const ofStore = storeClock(store);
  const { clock = ofStore, workers = 4, schedules = () => [] } = options;
  ensure(Number.isSafeInteger(workers) && workers > 0, `workers must be a positive whole number, not ${workers}`);
  const self = identityOf(process.pid);
  ensure(self !== null, "this system does not tell when a process was started, so no pid can be trusted");
  takeSupervision(store, { self, now: clock.now() });

  const stopped = Promise.withResolvers<void>();
  // It may be that nobody awaits it, and that is no reason to end the process.
  stopped.promise.catch(() => {});
  let takeBack = (): void => {};
  let finished: Promise<void> | null = null;

  /** `mistake` is what stopped it, in an array of one; a mistake that shows only now counts as well. */
  const end = async (graceMs: number, mistake: readonly unknown[]): Promise<void> => {
    const late = await driver.drain(graceMs).then(
      () => [],
      (error: unknown) => [error],
    );
    try {
      releaseSupervision(store, self);
    } catch {
      // A store out of reach keeps our name. It stops nobody once this process is gone.
    }
    const all = [...mistake, ...late];
    if (all.length === 0) stopped.resolve();
    else stopped.reject(all[0]);
  };
  const finish = (graceMs: number, mistake: readonly unknown[] = []): Promise<void> => {
    takeBack();
    return (finished ??= end(graceMs, mistake));
  };
  const look = (): void => {
    if (finished !== null) return;
    try {
      driver.work();
    } catch (error) {
      void finish(0, [error]);
    }
  };
  const lookForEver = (): void => {
    look();
    if (finished === null) takeBack = clock.after(LOOK_EVERY_MS, lookForEver);
  };
  const driver = createDriver({
    ...{ ...options, clock, workers, schedules, onProgress: look },
    followClock: clockWatch(ofStore, onEvent),
  });
  takeBack = clock.after(0, lookForEver);
  return {
    stopped: stopped.promise,
    drain: () => finish(DRAIN_MS),
  };
}
