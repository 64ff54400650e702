/**
 * The supervisor: the one process of a store that drives its executions, by sending tasks to worker processes. This
 * file is its life, from taking the store to releasing it; `driver.ts` is its work.
 *
 * A store has one supervisor at a time. Two would end each other's attempts, and no run would make progress.
 */
import { ensure } from "../core/ensure.ts";
import type { ClockDoubt } from "../protocol/steadiness.ts";
import type { TenantShares } from "../protocol/fair-share.ts";
import type { Limits } from "../protocol/limits.ts";
import {
  type BeatsHere,
  BeatsEnded,
  type DrainPace,
  type LostLines,
  type ScheduledAgent,
  type Supervisor,
  type WorkerOptions,
} from "../ports/supervision.ts";
import type { Clock } from "../ports/world.ts";
import type { DrivenStore, ProcessIdentity, StoreClock } from "../ports/driven-store.ts";
import type { SupervisorEvent } from "../ports/supervisor-events.ts";
import type { Concurrency } from "./agent-caps.ts";
import { createDriver } from "./driver.ts";
import { type Looks, beginLooks } from "./looks.ts";
import { reportOrphans } from "./orphans.ts";
import { identityOf } from "../adapters/local/process-identity.ts";

export interface SupervisorOptions {
  readonly store: DrivenStore;
  readonly limits: Pick<Limits, "beatMs" | "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  readonly worker: WorkerOptions | BeatsHere;
  /** Worker processes at once; 4 by default. */
  readonly workers?: number;
  /** Beats of one agent that a worker process runs at once; 1 by default. */
  readonly beatsPerWorker?: number;
  /** The most beats of an agent at once, by its name; no caps by default. */
  readonly concurrency?: Concurrency;
  /** What each tenant gets of the places; equal shares by default. */
  readonly tenants?: TenantShares;
  /**
   * The schedules that it fires, as far as they are known; none by default. The same schedule must be the same object.
   */
  readonly schedules?: () => readonly ScheduledAgent[];
  /** What of its output this process could not write; null, as by default: nothing. */
  readonly lostOutput?: () => LostLines | null;
  /** The clock to use; by default the clock of the store. */
  readonly clock?: Clock;
  readonly onEvent: (event: SupervisorEvent) => void;
}

const DRAIN_MS = 8_000;
/** How often it stores what of its output was lost, if that has grown. */
const OUTPUT_EVERY_MS = 2_000;

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
  const ofStore = store.clock();
  const { clock = ofStore, workers = 4, beatsPerWorker = 1, concurrency = {}, schedules = () => [] } = options;
  const { lostOutput = () => null, tenants = {} } = options;
  for (const [name, count] of Object.entries({ workers, beatsPerWorker }))
    ensure(Number.isSafeInteger(count) && count > 0, `${name} must be a positive whole number, not ${count}`);
  const self = identityOf(process.pid);
  ensure(self !== null, "this system does not report when a process started, so no pid can be trusted");
  store.takeSupervision({ self, now: clock.now() });
  // What it cannot write now is kept (`backlog.ts`). Blocked in an access, it would hear no worker meanwhile (schedule 236).
  store.waitShortly();

  const stopped = Promise.withResolvers<void>();
  // The caller may not await it; a rejection must not end the process then.
  stopped.promise.catch(() => {});
  let looks: Looks | null = null;
  let forgetLost = (): void => {};
  let stopCheck = (): void => {};
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
    looks?.stop();
    forgetLost();
    stopCheck();
    return (finished ??= end(ending));
  };
  const look = (): void => {
    if (finished !== null) return;
    try {
      driver.work();
    } catch (error) {
      // Nothing of this process can be killed, so what it still has gets its time.
      void finish({ graceMs: error instanceof BeatsEnded ? DRAIN_MS : 0, pace: "hurry", mistake: [error] });
    }
  };
  const { driver, keepLost } = orRelease(store, self, () => ({
    driver: createDriver({
      ...options,
      clock,
      workers,
      beatsPerWorker,
      concurrency,
      tenants,
      schedules,
      onProgress: () => looks?.soon(),
      counted: () => ofStore.uptime(),
      followClock: clockWatch(ofStore, onEvent),
    }),
    keepLost: store.lostOutputKeeper(self),
  }));
  looks = beginLooks({ clock, look, restsFor: driver.restsFor, watch: (onChange) => store.watch(onChange) });
  const keepLostForEver = (): void => {
    if (finished !== null) return;
    keepLost(lostOutput());
    forgetLost = clock.after(OUTPUT_EVERY_MS, keepLostForEver);
  };
  keepLostForEver();
  stopCheck = store.checkInBackground({
    clock,
    onDamaged: (damage) => void finish({ graceMs: 0, pace: "hurry", mistake: [damage] }),
  });
  // After the first look, which starts a worker for what is due.
  setImmediate(() => {
    if (finished !== null) return;
    void reportOrphans((event) => {
      if (finished === null) onEvent(event);
    });
  });
  return {
    stopped: stopped.promise,
    load: driver.load,
    drain: (graceMs = DRAIN_MS, pace = "hurry") => {
      // An error of this drain is one of the first drain, which reports it.
      if (finished !== null && pace === "hurry") driver.drain(graceMs, pace).catch(() => {});
      return finish({ graceMs, pace });
    },
  };
}

/** A process whose start failed drives nothing, and keeps no later supervisor from the store, in it or elsewhere. */
function orRelease<T>(store: DrivenStore, self: ProcessIdentity, start: () => T): T {
  try {
    return start();
  } catch (error) {
    release(store, self);
    throw error;
  }
}

function release(store: DrivenStore, self: ProcessIdentity): void {
  try {
    store.releaseSupervision(self);
  } catch {
    // An unreachable store keeps this process as its supervisor. It blocks no other once this process is gone.
  }
}

/** At each poll it stores what the clocks show, and reports when they are not believed any more, or are again. */
function clockWatch(clock: StoreClock, onEvent: (event: SupervisorEvent) => void): () => void {
  let told: ClockDoubt["kind"] | null = null;
  return () => {
    clock.follow();
    const doubt = clock.doubt();
    const kind = doubt?.kind ?? null;
    if (kind === told) return;
    told = kind;
    onEvent(doubt === null ? { kind: "clockBelieved" } : { kind: "clockDoubted", doubt });
  };
}
