/**
 * Supervision of a store: one process of the user drives its runs, with worker processes of its own. Only a world
 * without a service that drives runs has it.
 */
import type { TenantShares } from "../protocol/fair-share.ts";
import type { IntrinsicChanged } from "./intrinsics.ts";
import type { SupervisorEvent } from "./supervisor-events.ts";
import type { RunTask } from "./tasks.ts";

/** How to start a worker process. The module calls `serveTasks`. */
export interface WorkerOptions {
  readonly module: string | URL;
  readonly args: readonly string[];
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It says which code of an agent it has loaded. Absent: its code counts as known, and its tasks share it at once. */
  readonly tellsCode?: boolean;
  /** A process of that module that was started before, for the first worker; it gets `args` as a message. */
  readonly ahead?: StartedAhead;
}

/** A process that waits to become a worker: no store knows of it, and it knows of none. */
export interface StartedAhead {
  /** Ends it, unless it has become a worker. */
  readonly end: () => void;
}

/** Beats in the process of the supervisor itself, instead of worker processes. */
export interface BeatsHere {
  readonly run: RunTask;
  /** Removes secrets from the text of errors. */
  readonly clean: (text: string) => string;
  /** Calls back once, if code in this process has changed a function of the language. */
  readonly onBroken: (heard: (error: IntrinsicChanged) => void) => void;
}

/** The schedule of an agent; times are epoch milliseconds. */
export interface ScheduledAgent {
  readonly agent: string;
  readonly tenant: string;
  /** The first firing after that time, or null. */
  readonly next: (after: number) => number | null;
  /** The last firing up to that time, or null. */
  readonly latest: (moment: number) => number | null;
}

/** What one process that runs beats has now. */
export interface WorkerLoad {
  readonly pid: number;
  /** Whose code it runs; null: that of no agent yet, or of several. */
  readonly agent: string | null;
  /** Beats and tasks of the house. */
  readonly tasks: number;
  /** Those of them that wait for their model. */
  readonly waiting: number;
  /** How many more beats of its agent may act in it now. */
  readonly free: number;
}

export interface WorkersLoad {
  readonly processes: readonly WorkerLoad[];
  /** The most processes at once. */
  readonly processesMax: number;
  /** How many more beats may act now, those in processes that have not started included. */
  readonly free: number;
}

/** The sweeps of a supervisor; times are epoch milliseconds. */
export interface SweepsSeen {
  /** When the last one ended; null: none has ended yet. */
  readonly lastAt: number | null;
  /** How many runs the last one judged, mostly those that were due; null: none has ended yet, or the last one failed. */
  readonly judged: number | null;
  /** When the next one begins; in the past: as soon as a process is free, or it is under way. */
  readonly nextAt: number;
}

export interface SupervisorLoad {
  readonly workers: WorkersLoad;
  readonly sweeps: SweepsSeen;
}

/** A running supervisor. */
export interface Supervisor {
  /** Resolves after a drain. Rejects if a bug in cairn stopped the supervisor; its child processes are dead by then. */
  readonly stopped: Promise<void>;
  readonly load: () => SupervisorLoad;
  /**
   * Lets busy child processes finish, kills those that remain after `graceMs` (8 s by default), and releases the store.
   * Takes less than 2 s more than that. A second call may hurry a drain that waits for its beats.
   */
  drain(graceMs?: number, pace?: DrainPace): Promise<void>;
}

/**
 * What a drain asks of the beats under way. `hurry`, the default: give up model calls, commit and end. `finish`: end in
 * their own time; no next beat begins.
 */
export type DrainPace = "hurry" | "finish";

/** Output of a process that could not be written: how many lines since its start, and the reason in words. */
export interface LostLines {
  readonly lines: number;
  readonly why: string;
}

export interface SuperviseOptions {
  readonly worker: WorkerOptions | BeatsHere;
  /** The number of worker processes. */
  readonly workers: number;
  /** How many beats of one agent a worker process runs at once. */
  readonly beatsPerWorker: number;
  /** The most beats of an agent at once, by the name of the agent. */
  readonly concurrency: Readonly<Record<string, number>>;
  readonly tenants: TenantShares;
  /**
   * The schedules known so far. The supervisor identifies a schedule by its object, so an unchanged schedule must be
   * the same object at each call.
   */
  readonly schedules: () => readonly ScheduledAgent[];
  /** What of its output this process could not write; null: nothing. `cairn doctor` shows it. Absent: it is not counted. */
  readonly lostOutput?: () => LostLines | null;
  readonly onEvent: (event: SupervisorEvent) => void;
}

/** Starts the supervisor of a store, and finds the running one. */
export interface Supervision {
  /** The process ID of the live supervisor, or null. */
  current(): number | null;
  /** What the supervisor that was started here has to do; null: none was. */
  load(): SupervisorLoad | null;
  /**
   * Starts a supervisor. Later errors of the store are reported as events.
   *
   * @throws StoreSupervised, StoreUnreachable
   */
  start(options: SuperviseOptions): Supervisor;
}

/** Another live process supervises the store. A store has one supervisor at a time. */
export class StoreSupervised extends Error {
  override readonly name = "StoreSupervised";
  readonly code = "StoreSupervised";
  readonly pid: number;
  /** When the other supervisor started, epoch milliseconds; null if the store does not record it. */
  readonly since: number | null;

  constructor({ dir, pid, since }: { readonly dir: string; readonly pid: number; readonly since: number | null }) {
    const from = since === null ? "" : ` since ${new Date(since).toISOString().replace(/\.\d+Z$/, "Z")}`;
    super(
      `the store at ${dir} is supervised by process ${pid}${from}, and only one can; leave the work to it, or stop it ` +
        `first: kill ${pid}`,
    );
    this.pid = pid;
    this.since = since;
  }
}

/** Something in the process of the supervisor outlived its time, and such a process takes no further beat. */
export class BeatsEnded extends Error {
  override readonly name = "BeatsEnded";
  readonly code = "BeatsEnded";
  readonly why =
    "what outlived its time may still act, and it cannot be ended without this program; it takes no further beat and " +
    "has released its runs, which go on with the next process that drives the store: start this program again, or " +
    "type npx cairn work";

  /** The run whose call or beat it was; null: it is not known. */
  readonly run: string | null;
  readonly what: string;

  constructor(run: string | null, what: string) {
    super(`beats in this process have ended: ${what}${run === null ? "" : ` in run ${run}`}`);
    this.run = run;
    this.what = what;
  }
}

/**
 * Several workers in a row ended before they were ready, by themselves or since they were not ready in time. Their module
 * cannot be loaded, so retries do not help.
 */
export class WorkersUnbootable extends Error {
  override readonly name = "WorkersUnbootable";
  readonly code = "WorkersUnbootable";
  readonly why =
    "what they printed is above. No run has failed: fix the cause (a missing file, a missing flag of Node, a package " +
    "that is not installed), then start the supervisor again. On a machine that is only slow, use fewer workers " +
    "(--workers 1)";
}
