/** Starts worker processes. */
import { type ChildProcess, fork } from "node:child_process";
import type { StartedAhead, WorkerOptions } from "../ports/supervision.ts";
import { fileCode } from "../adapters/local/store/store-errors.ts";
import { AT_WORK, type AtWork, openAtWork } from "./at-work.ts";
import { identityOfStarted, killGroup } from "../adapters/local/process-identity.ts";
import { HELD_UP_MS, type ProcessOptions, type Worker, leave, newWorker } from "./worker-process.ts";

/** A worker process could not be started. */
export class WorkerUnavailable extends Error {
  override readonly name = "WorkerUnavailable";
  readonly code = "WorkerUnavailable";
}

/** How long a child may take to load its module. */
const BOOT_MS = 30_000;

export function spawnWorker(options: ProcessOptions): Worker {
  const { ahead, args, tellsCode = false } = options.worker;
  const { child, atWork } = (ahead instanceof Ahead ? ahead.become(args) : null) ?? forked(options.worker, args);
  const identity = child.pid === undefined ? null : identityOfStarted(child.pid);
  if (identity === null) {
    atWork?.end();
    throw new WorkerUnavailable(REFUSED);
  }
  // A worker without its channel cannot report anything, and what it started must not outlive it.
  for (const end of ["disconnect", "exit"]) child.on(end, () => killGroup(identity.pid));
  try {
    options.onSpawned(identity);
  } catch (error) {
    killGroup(identity.pid);
    atWork?.end();
    throw error;
  }
  const worker = newWorker(child, identity, { atWork, tellsCode });
  endLateBoot(worker, options);
  return worker;
}

/** Kills a worker that is not ready in time. It acts for no run yet, so a supervisor that was held up gives it new time. */
export function endLateBoot(worker: Worker, options: ProcessOptions): void {
  const due = options.counted() + BOOT_MS;
  worker.spare = options.clock.after(BOOT_MS, () => {
    if (options.counted() - due < HELD_UP_MS) leave(worker, { how: "killed: it was not ready in time" });
    else endLateBoot(worker, options);
  });
}

const REFUSED = "the system starts no more processes: its process IDs, memory or open files are used up";

interface Forked {
  readonly child: ChildProcess;
  readonly atWork: AtWork | null;
}

type Launch = Omit<WorkerOptions, "args">;

/** @throws WorkerUnavailable if the system has no memory for another process; other shortages leave it without an ID */
function forked({ module, execArgv, env }: Launch, args: readonly string[]): Forked {
  const atWork = openAtWork();
  try {
    const child = fork(module, [...args], {
      execArgv: [...execArgv],
      env: { ...env, ...(atWork !== null && { [AT_WORK.variable]: String(AT_WORK.fd) }) },
      // The output of tools must not mix with the one document that a command prints on stdout.
      stdio: ["ignore", 2, 2, "ipc", ...(atWork === null ? [] : [atWork.fd])],
      // It leads its own process group: what a tool started ends with it, and Ctrl-C reaches only the supervisor.
      detached: true,
    });
    // `exit` reports this too, except for a process that never started.
    child.on("error", () => {});
    return { child, atWork };
  } catch (error) {
    atWork?.end();
    const code = fileCode(error) ?? "";
    if (SHORTAGES.has(code)) throw new WorkerUnavailable(`${REFUSED} (${code})`);
    throw error;
  }
}

const SHORTAGES: ReadonlySet<string> = new Set(["EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOBUFS"]);

/**
 * Starts a process that loads the module of a worker while its supervisor does not exist yet. It has no settings, so it
 * opens no store, and it ends when this process does. Null: the system starts no process now.
 */
export function startAhead(launch: Launch): StartedAhead | null {
  try {
    return new Ahead(forked(launch, []));
  } catch (error) {
    if (error instanceof WorkerUnavailable) return null;
    throw error;
  }
}

class Ahead implements StartedAhead {
  #forked: Forked | null;

  constructor(started: Forked) {
    this.#forked = started;
  }

  /**
   * Null if it became a worker before, or is gone.
   *
   * Schedule 284: it is killed before there is a supervisor. That would find no such process and conclude that the system
   * starts none. So what has ended becomes no worker.
   */
  become(args: readonly string[]): Forked | null {
    const started = this.#forked;
    this.#forked = null;
    if (started === null) return null;
    if (hasEnded(started.child)) {
      started.atWork?.end();
      return null;
    }
    started.child.send([...args]);
    return started;
  }

  end(): void {
    this.#forked?.child.kill("SIGKILL");
    this.#forked?.atWork?.end();
    this.#forked = null;
  }
}

const hasEnded = ({ pid, exitCode, signalCode, connected }: ChildProcess): boolean =>
  pid === undefined || exitCode !== null || signalCode !== null || !connected;
