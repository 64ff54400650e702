/** The workers of a supervisor: warm child processes, each with the tasks of one agent at a time. */
import { randomBytes } from "node:crypto";
import { type DrainPace, type WorkerOptions, type WorkersLoad, WorkersUnbootable } from "../ports/supervision.ts";
import { lackOfRoom } from "./machine-room.ts";
import { type MemoryKills, watchMemoryKills } from "./memory-kills.ts";
import { type Placement, type Wish, freeIn, isSurplus, mostFor, placeFor, placesMax } from "./placement.ts";
import { whenEmpty } from "./process-groups.ts";
import type { ProvenCode } from "../ports/driven-store.ts";
import { createSpawnPause } from "./pauses.ts";
import { type FromChild, type LoadedCode, heardFrom } from "./wire.ts";
import { WorkerUnavailable, spawnWorker } from "./spawn-worker.ts";
import {
  DRAINED,
  REPLACED,
  type ProcessOptions,
  type TaskEnd,
  type Work,
  type Worker,
  askBack,
  close,
  give,
  hasJudged,
  hear,
  leave,
  leaveIfDone,
  tell,
} from "./worker-process.ts";
import { type GoneWorker, bury, endedUnseen } from "./gone-worker.ts";

export { type TaskEnd, type Worker, type WorkerOptions };

export interface PoolOptions extends ProcessOptions {
  readonly workers: number;
  /** How many tasks of one agent a worker has at most. */
  readonly beatsPerWorker: number;
  /** Which code of an agent has completed a beat on this machine. Never throws. */
  readonly provenCode: ProvenCode;
  /** Called from the fifth worker in a row that ended before it was ready, once for each. */
  readonly onUnbootable: (error: WorkersUnbootable) => void;
  /** The machine has no room for another worker, so none is started for that long. */
  readonly onNoRoom: (pause: { readonly why: string; readonly ms: number }) => void;
  readonly onRoomAgain: () => void;
  /** Says what the machine lacks; null if nothing. */
  readonly lack?: typeof lackOfRoom;
  /** Tells kills for want of memory from others. */
  readonly memoryKills?: MemoryKills;
}

/** Workers in a row that may end before they are ready. */
const BOOT_FAILURES_MAX = 5;
/** How long a killed worker may take to be gone, which is long on an overloaded machine. */
const KILL_MS = 1_900;
/** How many executions a worker is known to have had. */
const KNOWN_MAX = 1_000;

/** What a pool gives for a task. */
export interface Taken {
  readonly identity: { readonly pid: number };
}

export interface Pool<W extends Taken = Worker> {
  /**
   * A worker for that task, started if need be; null if the task has to wait. The worker has run no other agent's code
   * than that of the task. So what a tool does to its process affects only runs of its own agent. The room for the task
   * is kept until `run` or `freeUnused`.
   */
  readonly take: (wish: Wish) => W | null;
  run(worker: W, work: Work): void;
  readonly load: () => WorkersLoad;
  /** True if no task is beyond its deadline whose process is not killed yet. Nothing else begins before. */
  readonly hasJudged: () => boolean;
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
  const { clock, lack = lackOfRoom, memoryKills = watchMemoryKills() } = options;
  const pause = createSpawnPause({ clock, onPause: options.onNoRoom, onEnd: options.onRoomAgain });
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
  const spawn = (): Worker | null => {
    const worker = spawnedOr(
      () => spawnProcess(options),
      (why) => pause.begin(lack() ?? why),
    );
    if (worker === null) return null;
    memoryKills.forget();
    pool.add(worker);
    worker.child.on("message", (given: unknown) => {
      const message = heardFrom(given);
      if (message === null) return;
      if (message.kind === "ready") {
        bootFailures = 0;
        pause.end();
      }
      take(worker, { message, pool, options });
      rest(worker);
    });
    // `close` comes after the last message of a worker, `exit` may come before.
    worker.child.on("close", (code, signal) => {
      const end = endOf({ worker, code, signal, lack, memoryKills, options });
      if (end.lacks !== null) pause.begin(end.lacks);
      else if (isBootFailure(worker, signal)) bootFailures += 1;
      // It gets no more tasks, and keeps its place until nothing of it lives.
      worker.leaving ??= end;
      const finish = (left: readonly number[]): void => {
        pool.delete(worker);
        bury(worker, { ...end, how: worker.leaving?.how ?? end.how, left, options });
        if (bootFailures >= BOOT_FAILURES_MAX && !draining) options.onUnbootable(unbootable(worker, end.how));
        if (draining && pool.size === 0) empty.resolve();
      };
      whenEmpty(worker.identity.pid, { clock, onEmpty: finish });
    });
    return worker;
  };
  return {
    take: (wish) => {
      const bounds = { ...options, othersWait: othersWait(wish.agent) };
      const placement = placeFor(occupying(pool).map(placeNow), wish, bounds);
      // No idle worker is ended for one that cannot be started.
      const worker = placement.kind === "spawn" && !pause.isOver() ? null : workerIn(placement, spawn);
      if (worker === null) {
        if (wish.agent !== null) waits.add(wish.agent);
        return null;
      }
      worker.kept += 1;
      if (worker.agent !== wish.agent && worker.isReady) worker.servesSince = clock.now();
      worker.agent = wish.agent;
      worker.most = mostFor(wish, options);
      if (wish.execution !== null) remember(worker, wish.execution);
      return worker;
    },
    run: (worker, work) => {
      worker.kept -= 1;
      give(worker, { work, secret: randomBytes(16).toString("hex"), options });
    },
    load: () => loadOf(occupying(pool).map(placeNow), options),
    // All are looked at, since a look may kill.
    hasJudged: () => [...pool].map((worker) => hasJudged(worker, options)).every(Boolean),
    beginRound: () => {
      [waits, waited] = [new Set(), waits];
      noteIdle(pool);
    },
    askBack: () => {
      for (const worker of pool) askBack(worker);
    },
    freeUnused: () => {
      for (const worker of pool) free(worker);
    },
    drain: async (graceMs, pace) => {
      draining = true;
      if (pool.size === 0) return;
      const takeBack = drainAll(pool, { clock, graceMs, pace, onStuck: empty.resolve });
      await empty.promise;
      takeBack();
    },
  };
}

/**
 * Asks busy workers to commit and end, or to return their runs after the beats under way, and ends the others at once: those
 * without a task, and in a hurry those that are not ready.
 * Kills what is left after the grace. A process that hangs in the kernel cannot die: it stays in the store, and the next
 * supervisor waits for it. Its time to die begins with the kill, which a supervisor that is stopped meanwhile does late.
 * Returns what takes both back.
 */
function drainAll(
  pool: ReadonlySet<Worker>,
  {
    clock,
    graceMs,
    pace,
    onStuck,
  }: Pick<PoolOptions, "clock"> & {
    readonly graceMs: number;
    readonly pace: DrainPace;
    readonly onStuck: () => void;
  },
): () => void {
  for (const worker of pool) {
    // One that is still starting has begun nothing, and its tasks count as not sent: who is in a hurry does not wait for it.
    if (worker.tasks.size === 0 || (!worker.isReady && pace !== "finish")) leave(worker, DRAINED);
    else if (pace === "finish") askBack(worker);
    else tell(worker, { kind: "drain" });
  }
  const kill = (): void => {
    for (const worker of pool) leave(worker, DRAINED);
    takeBack = clock.after(KILL_MS, onStuck);
  };
  let takeBack = clock.after(graceMs, kill);
  return () => takeBack();
}

/**
 * The workers that take up a place. A replaced idle worker takes up none. A worker that is killed at its task takes up
 * its place until it is gone.
 */
const occupying = (pool: ReadonlySet<Worker>): readonly Worker[] =>
  [...pool].filter(({ leaving, tasks }) => leaving === null || leaving !== REPLACED || tasks.size > 0);

/** What placement knows of a worker at the time `now`, and the worker. */
const placeOf = (worker: Worker, now: number) => ({
  worker,
  agent: worker.agent,
  tasks: worker.tasks.size + worker.kept,
  most: worker.most,
  wasIdle: worker.wasIdle,
  servedMs: worker.servesSince === null ? 0 : now - worker.servesSince,
  waiting: [...worker.tasks.values()].filter(({ isWaiting }) => isWaiting).length,
  isHeavy: worker.isHeavy,
  isNew: worker.code !== "proven",
  isClosing: worker.closing !== null || worker.leaving !== null,
  knows: (execution: string) => worker.known.has(execution),
});

type PlaceOfWorker = ReturnType<typeof placeOf>;

function loadOf(places: readonly PlaceOfWorker[], bounds: PoolOptions): WorkersLoad {
  const processes = places.map((place) => {
    const { worker, agent, tasks, waiting } = place;
    return { pid: worker.identity.pid, agent, tasks, waiting, free: freeIn(place, bounds) };
  });
  const inStarted = processes.reduce((sum, { free }) => sum + free, 0);
  const inOthers = Math.max(0, bounds.workers - places.length) * bounds.beatsPerWorker;
  return { processes, processesMax: placesMax(bounds), free: inStarted + inOthers };
}

/** Takes a message of a worker, which may say that its code has completed a beat. */
function take(
  worker: Worker,
  heard: { readonly message: FromChild; readonly pool: ReadonlySet<Worker>; readonly options: PoolOptions },
): void {
  const { message, pool, options } = heard;
  if (message.kind === "loaded") return heedCode(worker, { message, options });
  const isOfTask = message.kind !== "ready" && worker.tasks.has(message.secret);
  hear(worker, { message, options });
  if (isOfTask && hasCommitted(message)) prove(pool, worker, options);
}

/** Takes what a worker says about the code that it has loaded: no agent could be loaded, or an agent with that code. */
function heedCode(
  worker: Worker,
  { message: { agent, code }, options }: { readonly message: LoadedCode; readonly options: PoolOptions },
): void {
  if (worker.code === "proven" || (agent !== null && agent !== worker.agent)) return;
  const isProven = agent === null || code === null || options.provenCode.has(agent, code);
  worker.code = isProven ? "proven" : code;
  if (isProven) options.onRoom();
}

/** A beat of that process is committed: its code has room for more, in this process and the others that have it. */
function prove(pool: ReadonlySet<Worker>, worker: Worker, { provenCode, onRoom }: PoolOptions): void {
  const { agent, code } = worker;
  if (agent === null || code === null || code === "proven") return;
  provenCode.add(agent, code);
  for (const each of pool) if (each.agent === agent && each.code === code) each.code = "proven";
  onRoom();
}

/** Whether the message says that a beat is committed, and its process is sound. */
const hasCommitted = (message: FromChild): boolean =>
  message.kind === "goesOn" || (message.kind === "answered" && message.result.kind === "beat");

/**
 * Whether a worker that is gone says something about its module. One that was killed from outside does not, nor one that
 * the supervisor itself ended to give its place to others, or in order to stop.
 */
function isBootFailure(worker: Worker, signal: NodeJS.Signals | null): boolean {
  if (worker.isReady || isOfSupervisor(worker)) return false;
  return signal === null || worker.leaving !== null;
}

/** Whether the supervisor ended it for reasons of its own. */
const isOfSupervisor = ({ leaving, closing }: Worker): boolean =>
  leaving === REPLACED || leaving === DRAINED || closing === REPLACED;

/** The worker, or null if the system starts none. */
function spawnedOr(spawn: () => Worker, onRefused: (why: string) => void): Worker | null {
  try {
    return spawn();
  } catch (error) {
    if (!(error instanceof WorkerUnavailable)) throw error;
    onRefused(error.message);
    return null;
  }
}

function noteIdle(pool: ReadonlySet<Worker>): void {
  for (const worker of pool) {
    worker.wasIdle = worker.isIdle;
    worker.isIdle = worker.tasks.size === 0;
  }
}

function free(worker: Worker): void {
  worker.kept = 0;
  leaveIfDone(worker);
}

/** How a worker ended, and what the machine lacked if that is why. One that the supervisor ended lacked nothing. */
function endOf(gone: {
  readonly worker: Worker;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lack: typeof lackOfRoom;
  readonly memoryKills: MemoryKills;
  readonly options: PoolOptions;
}): Pick<GoneWorker, "how" | "isOfMachine" | "isUnseen"> & { readonly lacks: string | null } {
  const { worker, code, signal, lack, memoryKills, options } = gone;
  const how = signal === null ? `exit code ${code}` : signal;
  // Node ends itself by another signal, or by a code, when it gets no thread. At its start it may also wait for ever.
  const isMeant = worker.isReady ? worker.leaving !== null || signal === "SIGKILL" : isOfSupervisor(worker);
  const lacks = isMeant ? null : lack();
  const why = lacks ?? (worker.leaving === null ? reasonOf(signal, memoryKills) : null);
  const isUnseen = endedUnseen(worker, options);
  return { how: why === null ? how : `${how}: ${why}`, lacks, isOfMachine: lacks !== null, isUnseen };
}

/** What a signal alone does not say. */
function reasonOf(signal: NodeJS.Signals | null, memoryKills: MemoryKills): string | null {
  if (signal === "SIGKILL") return memoryKills.explain();
  return signal === "SIGABRT" ? "Node ended itself, as it does when its heap is full; its output says why" : null;
}

/** Carries out the placement: the worker for the task, or null if it has to wait. */
function workerIn(placement: Placement<PlaceOfWorker>, spawn: () => Worker | null): Worker | null {
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
