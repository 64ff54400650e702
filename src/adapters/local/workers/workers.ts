/** The workers of a supervisor: warm child processes, each with the tasks of one agent at a time. */
import { randomBytes } from "node:crypto";
import { type DrainPace, type WorkerOptions, WorkersUnbootable } from "../../../ports/supervision.ts";
import { type Placement, type Wish, isSurplus, mostFor, placeFor } from "./placement.ts";
import { heardFrom } from "./wire.ts";
import { DRAINED, REPLACED, type ProcessOptions, type TaskEnd, WorkerUnavailable } from "./worker-process.ts";
import {
  type Work,
  type Worker,
  askBack,
  bury,
  close,
  give,
  hear,
  leave,
  leaveIfDone,
  spawnWorker,
  tell,
} from "./worker-process.ts";

export { type TaskEnd, type Worker, type WorkerOptions, WorkerUnavailable };

export interface PoolOptions extends ProcessOptions {
  readonly workers: number;
  /** How many tasks of one agent a worker has at most. */
  readonly beatsPerWorker: number;
  /** Called from the fifth worker in a row that ended before it was ready, once for each. */
  readonly onUnbootable: (error: WorkersUnbootable) => void;
}

/** Workers in a row that may end before they are ready. */
const BOOT_FAILURES_MAX = 5;
/** How long a killed worker may take to be gone, which is long on an overloaded machine. */
const KILL_MS = 1_900;
/** How many executions a worker is known to have had. */
const KNOWN_MAX = 1_000;

export interface Pool {
  /**
   * A worker for that task, started if need be; null if the task has to wait. The worker has run no other agent's code
   * than that of the task. So what a tool does to its process affects only runs of its own agent. The room for the task
   * is kept until `run` or `freeUnused`.
   */
  readonly take: (wish: Wish) => Worker | null;
  readonly run: (worker: Worker, work: Work) => void;
  /** A round of placements begins. What had no task in all of the round before has no work. */
  readonly beginRound: () => void;
  /** Asks the workers to return the runs with which they go on by themselves, so that a task finds a worker. */
  readonly askBack: () => void;
  /** Frees the room of tasks that are not run after all. */
  readonly freeUnused: () => void;
  /** Lets busy workers finish, for `graceMs` at most; resolves when no worker is left. A second call may hurry it. */
  readonly drain: (graceMs: number, pace: DrainPace) => Promise<void>;
}

/** `spawnProcess` starts a worker; tests give one without a process. */
export function createPool(options: PoolOptions, spawnProcess: typeof spawnWorker = spawnWorker): Pool {
  const { clock } = options;
  const pool = new Set<Worker>();
  const empty = Promise.withResolvers<void>();
  let draining = false;
  let bootFailures = 0;

  /** The agents without a process that found no place in this round, and in the one before. */
  let [waits, waited]: readonly [Set<string>, ReadonlySet<string>] = [new Set(), new Set()];
  const othersWait = (agent: string | null): boolean => {
    const places = new Set(occupying(pool).map((worker) => worker.agent));
    return [...waits, ...waited].some((each) => each !== agent && !places.has(each));
  };
  const placeNow = (worker: Worker): PlaceOfWorker => placeOf(worker, clock.now());
  const rest = (worker: Worker): void => {
    if (worker.tasks.size > 0 || worker.kept > 0 || worker.leaving !== null) return;
    if (draining) return leave(worker, DRAINED);
    const isMore = isSurplus(placeNow(worker), { places: occupying(pool).map(placeNow), workers: options.workers });
    if (isMore && worker.isReady) leave(worker, REPLACED);
  };
  const spawn = (): Worker => {
    const worker = spawnProcess(options);
    pool.add(worker);
    worker.child.on("message", (given: unknown) => {
      const message = heardFrom(given);
      if (message === null) return;
      if (message.kind === "ready") bootFailures = 0;
      hear(worker, { message, options });
      rest(worker);
    });
    // `close` comes after the last message of a worker, `exit` may come before.
    worker.child.on("close", (code, signal) => {
      pool.delete(worker);
      const how = signal === null ? `exit code ${code}` : signal;
      if (isBootFailure(worker, signal)) bootFailures += 1;
      bury(worker, { how, options });
      if (bootFailures >= BOOT_FAILURES_MAX && !draining) options.onUnbootable(unbootable(worker, how));
      if (draining && pool.size === 0) empty.resolve();
    });
    return worker;
  };
  return {
    take: (wish) => {
      const bounds = { ...options, othersWait: othersWait(wish.agent) };
      const worker = workerIn(placeFor(occupying(pool).map(placeNow), wish, bounds), spawn);
      if (worker === null) {
        if (wish.agent !== null) waits.add(wish.agent);
        return null;
      }
      worker.kept += 1;
      if (worker.agent !== wish.agent && worker.isReady) worker.servesSince = clock.now();
      worker.agent = wish.agent;
      worker.most = mostFor(wish.failures, options);
      if (wish.execution !== null) remember(worker, wish.execution);
      return worker;
    },
    run: (worker, work) => {
      worker.kept -= 1;
      give(worker, { work, secret: randomBytes(16).toString("hex"), options });
    },
    beginRound: () => {
      [waits, waited] = [new Set(), waits];
      for (const worker of pool) {
        worker.wasIdle = worker.isIdle;
        worker.isIdle = worker.tasks.size === 0;
      }
    },
    askBack: () => {
      for (const worker of pool) askBack(worker);
    },
    freeUnused: () => {
      for (const worker of pool) {
        worker.kept = 0;
        leaveIfDone(worker);
      }
    },
    drain: async (graceMs, pace) => {
      draining = true;
      if (pool.size === 0) return;
      const takeBack = [
        ...drainAll(pool, { clock, graceMs, pace }),
        // A process that hangs in the kernel cannot die. It stays in the store, and the next supervisor waits for it.
        clock.after(graceMs + KILL_MS, empty.resolve),
      ];
      await empty.promise;
      for (const take of takeBack) take();
    },
  };
}

/**
 * Asks busy workers to commit and end, or to return their runs after the beats under way, and ends the others at once.
 * Returns what takes the kill at the end back.
 */
function drainAll(
  pool: ReadonlySet<Worker>,
  { clock, graceMs, pace }: Pick<PoolOptions, "clock"> & { readonly graceMs: number; readonly pace: DrainPace },
): readonly (() => void)[] {
  for (const worker of pool) {
    if (worker.tasks.size === 0) leave(worker, DRAINED);
    else if (pace === "finish") askBack(worker);
    else tell(worker, { kind: "drain" });
  }
  const kill = (): void => {
    for (const worker of pool) leave(worker, DRAINED);
  };
  return [clock.after(graceMs, kill)];
}

/**
 * The workers that take up a place. A replaced idle worker takes up none. A worker that is killed at its task takes up
 * its place until it is gone.
 */
const occupying = (pool: ReadonlySet<Worker>): readonly Worker[] =>
  [...pool].filter(({ leaving, tasks }) => leaving === null || leaving !== REPLACED || tasks.size > 0);

/** What placement knows of a worker at the time `now`, and the worker. */
const placeOf = (worker: Worker, now: number) => ({
  ...{ worker, agent: worker.agent, tasks: worker.tasks.size + worker.kept, most: worker.most },
  wasIdle: worker.wasIdle,
  servedMs: worker.servesSince === null ? 0 : now - worker.servesSince,
  waiting: [...worker.tasks.values()].filter(({ isWaiting }) => isWaiting).length,
  isHeavy: worker.isHeavy,
  isClosing: worker.closing !== null || worker.leaving !== null,
  knows: (execution: string) => worker.known.has(execution),
});

type PlaceOfWorker = ReturnType<typeof placeOf>;

/**
 * Whether a worker that is gone says something about its module. One that was killed from outside does not, nor one that
 * the supervisor itself ended to give its place to others, or in order to stop.
 */
function isBootFailure({ isReady, leaving, closing }: Worker, signal: NodeJS.Signals | null): boolean {
  if (isReady || leaving === REPLACED || leaving === DRAINED || closing === REPLACED) return false;
  return signal === null || leaving !== null;
}

/** Carries out the placement: the worker for the task, or null if it has to wait. */
function workerIn(placement: Placement<PlaceOfWorker>, spawn: () => Worker): Worker | null {
  if (placement.kind === "use") return placement.place.worker;
  if (placement.kind === "full") {
    if (placement.closing !== null) close(placement.closing.worker, REPLACED);
    return null;
  }
  if (placement.replaced !== null) leave(placement.replaced.worker, REPLACED);
  return spawn();
}

function remember({ known }: Worker, execution: string): void {
  known.delete(execution);
  known.add(execution);
  const [oldest = execution] = known;
  if (known.size > KNOWN_MAX) known.delete(oldest);
}

function unbootable({ leaving }: Worker, how: string): WorkersUnbootable {
  return new WorkersUnbootable(
    `${BOOT_FAILURES_MAX} workers in a row ended before they were ready; the last one: ${leaving?.how ?? how}`,
  );
}
