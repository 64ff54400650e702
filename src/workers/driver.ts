/**
 * Drives the executions of a store: it sends every ready task to a worker and stores the outcome.
 *
 * The store holds everything that matters. The driver reads from it what happens next, and an attempt is stored before
 * it is sent. A driver may be killed at any moment. The next one first kills the child processes left behind, then
 * counts the attempts that were out as dead, and goes on.
 *
 * It polls for ready executions; it keeps no timers and watches no changes. One read finds a wake-up, a start and the
 * end of a wait, whichever process wrote them, so none is missed.
 */
import { bounded } from "../codec/value.ts";
import { INTRINSIC_CHANGED } from "../core/changed-intrinsic.ts";
import type { TenantShares } from "../protocol/fair-share.ts";
import type { Limits } from "../protocol/limits.ts";
import type { Clock } from "../ports/world.ts";
import { type AgentCaps, type Concurrency, createAgentCaps } from "./agent-caps.ts";
import { type Backlog, createBacklog, heldTold } from "./backlog.ts";
import type { Children, DrivenStore, Executions } from "../ports/driven-store.ts";
import {
  type AttemptFailure,
  type Execution,
  applyAnswer,
  applyFailure,
  taskOfExecution,
} from "../protocol/execution.ts";
import type { BeatsEnded, BeatsHere, DrainPace, ScheduledAgent, SupervisorLoad } from "../ports/supervision.ts";
import { firingsOf } from "./firings.ts";
import { houseHours, sweeper } from "./looks.ts";
import { leftBehind } from "./process-groups.ts";
import { unusableIn } from "../ports/store-errors.ts";
import { retentionWork } from "./retention.ts";
import { SPARE_PLACES } from "./placement.ts";
import { type Pool, type PoolOptions, type TaskEnd, type Taken, type WorkerOptions, createPool } from "./workers.ts";
import { countingPool } from "./counting-pool.ts";
import { createPoolHere } from "./pool-here.ts";
import type { spawnWorker } from "./spawn-worker.ts";
import type { SupervisorEvent, Attempted } from "../ports/supervisor-events.ts";

export interface DriverOptions {
  readonly store: DrivenStore;
  readonly limits: Pick<Limits, "beatMs" | "rescueMs" | "entryAttemptsMax" | "backoffMsMax">;
  readonly worker: WorkerOptions | BeatsHere;
  readonly workers: number;
  readonly beatsPerWorker: number;
  readonly concurrency: Concurrency;
  readonly tenants?: TenantShares;
  readonly schedules: () => readonly ScheduledAgent[];
  readonly clock: Clock;
  /** Milliseconds that have passed since some moment, also while the machine slept; by default those of the clock. */
  readonly counted?: () => number;
  readonly onEvent: (event: SupervisorEvent) => void;
  /** Stores what the clocks of this machine show. */
  readonly followClock: () => void;
  /** Called when there may be work: a task ended, or made room for another one. */
  readonly onProgress: () => void;
  /** Starts a worker; tests give one without a process. */
  readonly spawnProcess?: typeof spawnWorker;
}

export interface Driver {
  /** Starts what is due now, without waiting for any of it. Throws bugs, and `WorkersUnbootable`. */
  readonly work: () => void;
  /** How long nothing that is known is due, in milliseconds; null while a task is out, or before it has begun. */
  readonly restsFor: () => number | null;
  readonly load: () => SupervisorLoad;
  /** Sends no more tasks; resolves when no child process is left. */
  readonly drain: (graceMs: number, pace: DrainPace) => Promise<void>;
}

/** How many ready executions one read finds. */
const READY_MAX = 32;

export function createDriver(options: DriverOptions): Driver {
  const { store, limits, clock, onEvent } = options;
  const executions = store.executions();
  const children = store.children();
  const backlog = createBacklog({
    clock,
    onPause: ({ why, ms }) => onEvent({ kind: "waitingForStore", why, retryInMs: ms }),
    onBack: () => onEvent({ kind: "storeIsBack" }),
  });
  const pool = countingPool(stoppedByStore(poolOf(options, { children, backlog }), backlog));
  const hours = houseHours(clock);
  const attempts = attemptsOf(options, { executions, pool, backlog, onBeatOver: hours.onBeatOver });
  const caps = createAgentCaps(options.concurrency);
  const sweep = sweeper(options, pool);
  const firings = firingsOf(options, pool);
  const retention = retentionWork(options, { pool, backlog });
  const left = leftBehind(options, children);
  // Each pass but the last sends tasks, or finds one more agent full, which has a process then.
  const passesMax = options.workers * options.beatsPerWorker + options.workers + SPARE_PLACES + 1;
  let [isRecovered, isDraining] = [false, false];

  /** A worker for a task of the house; null if it has to wait, until a run that goes on by itself is returned. */
  const takeFor = (agent: string | null): Taken | null => {
    const worker = pool.take({ agent, execution: null, failures: 0 });
    if (worker === null) pool.askBack();
    return worker;
  };
  const recover = (): boolean => {
    if (!left.areGone()) return false;
    executions.recover({ now: clock.now(), limits });
    return true;
  };
  const dispatch = (): void => {
    options.followClock();
    isRecovered ||= recover();
    if (!isRecovered || isDraining || !pool.hasJudged()) return;
    pool.beginRound();
    hours.look(() => executions.ready(clock.now(), 1).length > 0);
    fire();
    if (clock.now() >= hours.from()) keepHouse();
    const full = new Set<string>();
    for (let passes = 0; passes < passesMax; passes += 1) {
      if (!sendReady({ executions, pool, caps, shares: options.tenants ?? {}, clock, attempts, full })) return;
    }
  };
  /** Starts what is due by a schedule, before the beats. */
  const fire = (): void => {
    for (let firing = firings.next(); firing !== null; firing = firings.next()) {
      const worker = takeFor(firing.agent);
      if (worker === null) return;
      firings.start(worker, firing);
    }
  };
  /** Starts what belongs to no execution and to no schedule, before the beats. */
  const keepHouse = (): void => {
    retention.expire();
    if (sweep.isDue()) {
      const worker = takeFor(null);
      if (worker === null) return;
      sweep.start(worker);
    }
    const upkeep = retention.next();
    const worker = upkeep === null ? null : takeFor(null);
    if (upkeep !== null && worker !== null) retention.start(worker, upkeep);
  };
  return {
    work: () => backlog.goOn(dispatch),
    restsFor: () => {
      if (!isRecovered || pool.out() > 0) return null;
      const houseAt = Math.max(sweep.dueAt(), hours.from());
      return Math.max(0, Math.min(executions.nextReadyAt() ?? Infinity, houseAt) - clock.now());
    },
    load: () => ({ workers: pool.load(), sweeps: sweep.seen(hours.from()) }),
    drain: async (graceMs, pace) => {
      isDraining = true;
      await pool.drain(graceMs, pace);
      // An outcome that cannot be stored now counts as a death of its attempt for the next supervisor.
      backlog.flush();
    },
  };
}

/**
 * Sends those ready attempts for which there is a worker; true if more may be ready. An attempt that has to wait does
 * not hold up those of other agents. Once a kind of attempt finds no worker, no other one of that kind is tried: `full`
 * gets its agent, whose beats the next pass leaves out. So a long queue of one agent hides no other agent.
 */
function sendReady(pass: {
  readonly executions: Executions;
  readonly pool: Pool<Taken>;
  readonly caps: AgentCaps;
  readonly shares: TenantShares;
  readonly clock: Clock;
  readonly attempts: ReturnType<typeof attemptsOf>;
  readonly full: Set<string>;
}): boolean {
  const { executions, pool, caps, shares, clock, attempts, full } = pass;
  const isFull = new Set<string>();
  const fullBefore = full.size;
  const ready = executions.ready(clock.now(), READY_MAX, [...caps.full(), ...full], shares);
  // The worker comes first: without a worker no attempt is counted.
  const placed = ready.flatMap(({ name, tenant, agent, failures, isBeat }) => {
    const isOutage = attempts.hadOutage(name);
    const kind = `${failures} ${isOutage} ${agent}`;
    const free = isBeat && agent !== null && caps.isCapped(agent) ? caps.take(agent) : NO_CAP;
    const worker = free === null || isFull.has(kind) ? null : pool.take({ agent, execution: name, failures, isOutage });
    if (free === null) return [];
    // The runs of a capped agent or tenant take turns at its places, and a retry may have a process to itself.
    const isUncapped = free === NO_CAP && shares[tenant]?.concurrency === undefined;
    if (worker !== null) return [{ name, worker, free, mayGoOn: isBeat && failures === 0 && isUncapped }];
    isFull.add(kind);
    if (agent !== null && failures === 0) full.add(agent);
    free();
    return [];
  });
  if (isFull.size > 0) pool.askBack();
  const begun = new Set<() => void>();
  try {
    const executionsBegun = executions.together(() => placed.map(({ name }) => executions.begin(name, clock.now())));
    for (const [index, { worker, free, mayGoOn }] of placed.entries()) {
      const execution = executionsBegun[index];
      if (!execution) continue;
      begun.add(free);
      attempts.start({ worker, execution, mayGoOn, onOver: free });
    }
  } finally {
    pool.freeUnused();
    for (const { free } of placed) if (!begun.has(free)) free();
  }
  // A cap of a tenant leaves out what stood before others of it, so a short list says nothing.
  const isCut = Object.values(shares).some(({ concurrency }) => concurrency !== undefined);
  return (placed.length > 0 || full.size > fullBefore) && (isCut || ready.length === READY_MAX);
}

const NO_CAP = (): void => {};

/** Sends the attempts of executions, and stores their outcomes. */
function attemptsOf(
  { clock, limits, onEvent, onProgress }: DriverOptions,
  on: {
    readonly executions: Executions;
    readonly pool: Pool<Taken>;
    readonly backlog: Backlog;
    readonly onBeatOver: () => void;
  },
) {
  const { executions, pool, backlog, onBeatOver } = on;
  /** Executions whose last attempt ended since a store did not answer. A new supervisor knows of none. */
  const outages = new Set<string>();
  /** Attempts that ended, whose outcome is not stored yet. */
  let ended: readonly { readonly execution: Execution; readonly end: TaskEnd }[] = [];
  const settle = (execution: Execution, end: TaskEnd): Execution | null => {
    const now = clock.now();
    return executions.settle(execution, (found) =>
      end.kind === "answered"
        ? applyAnswer(found, { answer: end.answer, now })
        : applyFailure(found, { now, limits, atOnce: false, ...evidenceIn(end) }),
    );
  };
  /** The outcomes of all that ended since the last time, in one transaction. */
  const settleEnded = (): void => {
    const settled = executions.together(() => ended.map(({ execution, end }) => settle(execution, end)));
    ended = [];
    for (const moved of settled) {
      if (moved === null) continue;
      const { name, payload, state, readyAt } = moved;
      onEvent({ kind: "moved", execution: name, run: payload.run, state, readyAt });
    }
  };
  return {
    hadOutage: (name: string): boolean => outages.has(name),
    /** `onOver` is called when the attempt is over, and its process cannot act for it any more. */
    start: ({
      worker,
      execution,
      mayGoOn,
      onOver,
    }: {
      readonly worker: Taken;
      readonly execution: Execution;
      readonly mayGoOn: boolean;
      readonly onOver: () => void;
    }): void => {
      const { name, payload, state, retry, attempt } = execution;
      const attempted = { execution: name, run: payload.run, state, retry, pid: worker.identity.pid };
      const onNext = (): void => {
        onBeatOver();
        onEvent({ ...attempted, kind: "attemptAnswered", route: "beat" });
        onEvent({ kind: "moved", execution: name, run: payload.run, state, readyAt: clock.now() });
        onEvent({ ...attempted, kind: "attemptStarted" });
      };
      const onEnd = (end: TaskEnd): void => {
        onBeatOver();
        onEvent(eventOf(attempted, end));
        if (isOutageOf(end)) outages.add(name);
        else outages.delete(name);
        onOver();
        if (ended.length === 0) backlog.keep(settleEnded);
        ended = [...ended, { execution, end }];
        onProgress();
      };
      onEvent({ kind: "attemptStarted", ...attempted });
      pool.run(worker, {
        task: taskOfExecution(execution),
        onEnd,
        ...(mayGoOn ? { goesOn: { attempt, onNext } } : {}),
      });
    },
  };
}

type FailedEnd = Extract<TaskEnd, { readonly kind: "failed" }>;

/** What the failure of an attempt says about its process. */
const evidenceIn = (end: FailedEnd): Pick<AttemptFailure, "isDeath" | "isUnsent" | "cause" | "changed"> => ({
  isDeath: isDeath(end),
  isUnsent: end.isUnsent === true,
  cause: causeOf(end),
  ...(end.error?.changed && { changed: end.error.changed }),
});

/**
 * A store that did not answer is no death of the process that asked it, and neither is the end of its supervisor. Schedule
 * 227: code of one run changed a function of the language, and the process ended with all that it had.
 */
const isDeath = ({ error, hasDied }: FailedEnd): boolean => hasDied && !NO_DEATHS.has(error?.name ?? "");

const OUTAGES: readonly string[] = ["StoreUnreachable", "Undecided"];
const NO_DEATHS: ReadonlySet<string> = new Set([...OUTAGES, INTRINSIC_CHANGED]);

/** Nothing is known against the run: a store did not answer it, or no process got the task. */
const isOutageOf = (end: TaskEnd): boolean => end.kind === "failed" && OUTAGES.includes(end.error?.name ?? "");

/** Text for humans: what ended the process, or what its task threw. The worker has removed the secrets from it. */
const causeOf = ({ how, error }: FailedEnd): string =>
  bounded(error === null ? how : `${error.name}: ${error.message}`, CAUSE_CHARACTERS_MAX);

const CAUSE_CHARACTERS_MAX = 300;

function eventOf(attempted: Attempted, end: TaskEnd): SupervisorEvent {
  if (end.kind === "failed") return { ...attempted, kind: "attemptFailed", how: end.how, error: end.error };
  const route = end.answer.kind === "beat" ? end.answer.reply.route : null;
  return { ...attempted, kind: "attemptAnswered", route };
}

function poolOf(
  options: DriverOptions,
  { children, backlog }: { readonly children: Children; readonly backlog: Backlog },
): Pool<Taken> {
  const { store, worker, workers, beatsPerWorker, clock, counted, limits, onEvent, onProgress, spawnProcess } = options;
  // The next `work` throws it, after the writes that are kept, and that stops the supervisor.
  const stopBy = (error: Error): void =>
    backlog.keep(() => {
      throw error;
    });
  if ("run" in worker) {
    // What its tasks come to is stored all the same, when the supervisor drains.
    const onEnded = (error: BeatsEnded): void => {
      let isThrown = false;
      backlog.keep(() => {
        if (isThrown) return;
        isThrown = true;
        throw error;
      });
    };
    return createPoolHere({ here: worker, beatsPerWorker, beatMs: limits.beatMs, clock, onEnded });
  }
  const poolOptions: PoolOptions = {
    provenCode: store.provenCode(backlog.keep),
    worker,
    workers,
    beatsPerWorker,
    clock,
    counted: counted ?? (() => clock.now()),
    beatMs: limits.beatMs,
    onSpawned: (child) => {
      children.add(child);
      onEvent({ kind: "workerSpawned", pid: child.pid });
    },
    onGone: (child, how) => {
      backlog.keep(() => children.remove(child));
      onEvent({ kind: "workerGone", pid: child.pid, how });
    },
    onRoom: onProgress,
    onHeld: heldTold(options),
    onNoRoom: ({ why, ms }) => onEvent({ kind: "waitingForMachine", why, retryInMs: ms }),
    onRoomAgain: () => onEvent({ kind: "machineIsBack" }),
    onUnbootable: stopBy,
  };
  return createPool(poolOptions, spawnProcess);
}

/**
 * Stops the supervisor when a worker finds that the store is damaged or replaced. Nothing more is written to that
 * store, not even the outcome of the task: the next `work` throws.
 */
function stoppedByStore(pool: Pool<Taken>, backlog: Backlog): Pool<Taken> {
  const heard = (end: TaskEnd): void => {
    const unusable = end.kind === "failed" ? unusableIn(end.error) : null;
    if (unusable === null) return;
    backlog.keep(() => {
      throw unusable;
    });
  };
  return {
    ...pool,
    run: (worker, work) =>
      pool.run(worker, {
        ...work,
        onEnd: (end) => {
          heard(end);
          work.onEnd(end);
        },
      }),
  };
}
