/**
 * Supervision of a store: one process of the user drives its runs, with worker processes of its own. A world has it where
 * no service drives its runs.
 */
import type { SupervisorEvent } from "./supervisor-events.ts";

/** How a child is started: a module that calls `serveTasks`. */
export interface WorkerOptions {
  readonly module: string | URL;
  readonly args: readonly string[];
  readonly execArgv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The schedule of an agent; times are epoch milliseconds. */
export interface ScheduledAgent {
  readonly agent: string;
  readonly tenant: string;
  /** The first time after that moment, or null. */
  readonly next: (after: number) => number | null;
  /** The last time up to that moment, or null. */
  readonly latest: (moment: number) => number | null;
}

export interface Supervisor {
  /** Resolves after a drain. Rejects if a mistake of ours stopped it; its children are dead then. */
  readonly stopped: Promise<void>;
  /** Lets busy children come to an end, kills what is left, gives the store free; in less than 10 s. */
  drain(): Promise<void>;
}

export interface SuperviseOptions {
  readonly worker: WorkerOptions;
  /** Workers at once. */
  readonly workers: number;
  /** What it fires, as far as it is known; the same schedule is the same object. */
  readonly schedules: () => readonly ScheduledAgent[];
  readonly onEvent: (event: SupervisorEvent) => void;
}

export interface Supervision {
  /** The process ID of the live supervisor, or null. */
  current(): number | null;
  /** @throws StoreSupervised, StoreUnreachable; what goes wrong with the store later is told by events */
  start(options: SuperviseOptions): Supervisor;
}

/** Another live process supervises the store, and only one can. */
export class StoreSupervised extends Error {
  override readonly name = "StoreSupervised";
  readonly code = "StoreSupervised";
  readonly pid: number;
  /** When it took the store, epoch milliseconds; null where the store does not tell. */
  readonly since: number | null;

  constructor(of: { readonly dir: string; readonly pid: number; readonly since: number | null }) {
    const { dir, pid, since } = of;
    const from = since === null ? "" : ` since ${new Date(since).toISOString().replace(/\.\d+Z$/, "Z")}`;
    super(
      `the store at ${dir} is supervised by process ${pid}${from}, and only one can; leave the work to it, or stop it ` +
        `first: kill ${pid}`,
    );
    this.pid = pid;
    this.since = since;
  }
}

/** Worker after worker ends before it is ready: its module cannot be loaded, and trying again does not mend that. */
export class WorkersUnbootable extends Error {
  override readonly name = "WorkersUnbootable";
  readonly code = "WorkersUnbootable";
  readonly why =
    "what they printed is above. No run has failed: mend the cause (a missing file, a missing flag of Node, a package " +
    "that is not installed), then start the supervisor again";
}
