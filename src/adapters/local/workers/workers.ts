/**
 * The workers of a supervisor: warm child processes, each with one task at a time. A worker is stored before it gets a
 * task, and is killed at its task's deadline, since leases rely on no process living longer.
 *
 * A failed task is reported only when its process is gone. Its retry may be sent at once, and must not run beside what
 * is left of it.
 */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import type { Task, TaskResult } from "../../../protocol/chain.ts";
import { type WorkerOptions, WorkersUnbootable } from "../../../ports/supervision.ts";
import type { TaskError } from "../../../ports/supervisor-events.ts";
import type { Clock } from "../../../ports/world.ts";
import type { Answer } from "../../../protocol/execution.ts";
import { type ProcessIdentity, identityOf, killGroup } from "./process-identity.ts";
import { type FromChild, type ToChild, heardFrom } from "./wire.ts";

export type { WorkerOptions };

/**
 * The outcome of a task. `how` says what ended its process; `error` is what the task threw, if the process reported it.
 */
export type TaskEnd =
  | { readonly kind: "answered"; readonly answer: Answer }
  /**
   * `hasDied` is false if the supervisor stopped the process in order to stop itself, or if the process never got the
   * task.
   */
  | { readonly kind: "failed"; readonly how: string; readonly error: TaskError | null; readonly hasDied: boolean };

export interface PoolOptions {
  readonly worker: WorkerOptions;
  readonly workers: number;
  readonly beatMs: number;
  readonly clock: Clock;
  /** Stores a new worker. If this throws, the worker is killed and gets no task. */
  readonly onSpawned: (child: ProcessIdentity) => void;
  readonly onGone: (child: ProcessIdentity, how: string) => void;
  /** Called from the fifth worker in a row that ended before it was ready, once for each. */
  readonly onUnbootable: (error: WorkersUnbootable) => void;
}

/** Why a worker is ending, and what its task threw. */
interface Leaving {
  readonly how: string;
  readonly error: TaskError | null;
  /** Its earlier answer, which the chain gets once the process is gone. */
  readonly answer?: Answer;
}

const DRAINED: Leaving = { how: "killed: the supervisor is stopping", error: null };
const REPLACED: Leaving = { how: "killed: another agent needs its own process", error: null };

interface Work {
  readonly task: Task;
  readonly onEnd: (end: TaskEnd) => void;
}

interface Sent extends Work {
  /** An answer counts only if it repeats this value. */
  readonly secret: string;
}

/** A worker process of the pool. */
export interface Worker {
  readonly child: ChildProcess;
  readonly identity: ProcessIdentity;
  /** The agent whose code it runs; null if no agent's code was ever loaded in it. */
  agent: string | null;
  isReady: boolean;
  work: Sent | null;
  /** Set once the worker is ending; it gets no other task. */
  leaving: Leaving | null;
  /** Cancels the kill at its deadline, or at the end of its boot. */
  spare: () => void;
}

/** A worker process could not be started. */
export class WorkerUnavailable extends Error {
  override readonly name = "WorkerUnavailable";
  readonly code = "WorkerUnavailable";
}

/** Workers in a row that may end before they are ready. */
const BOOT_FAILURES_MAX = 5;
/** How long a child may take to load its module. */
const BOOT_MS = 30_000;
/** How long a killed worker may take to be gone, which is long on an overloaded machine. */
const KILL_MS = 1_900;

export interface Pool {
  /** How many tasks could be sent now. */
  readonly free: () => number;
  /**
   * A worker without a task, started if need be; `free` says whether there is one. It has run no other agent's code
   * than `agent`'s, or none at all for null. So what a tool does to its process affects only runs of its own agent.
   */
  readonly take: (agent: string | null) => Worker;
  readonly run: (worker: Worker, work: Work) => void;
  /** Lets busy workers finish, for `graceMs` at most; resolves when no worker is left. */
  readonly drain: (graceMs: number) => Promise<void>;
}

export function createPool(options: PoolOptions): Pool {
  const { workers, clock } = options;
  const pool = new Set<Worker>();
  const empty = Promise.withResolvers<void>();
  let draining = false;
  let bootFailures = 0;

  const idle = (): readonly Worker[] => [...pool].filter((worker) => worker.work === null && worker.leaving === null);
  const spawn = (): Worker => {
    const worker = spawnWorker(options);
    pool.add(worker);
    worker.child.on("message", (given: unknown) => {
      const message = heardFrom(given);
      if (message === null) return;
      if (message.kind === "ready") bootFailures = 0;
      hear(worker, { message, options });
      if (draining && worker.work === null) leave(worker, DRAINED);
    });
    // `close` comes after the last message of a worker, `exit` may come before.
    worker.child.on("close", (code, signal) => {
      pool.delete(worker);
      const how = signal === null ? `exit code ${code}` : signal;
      // A worker killed from outside says nothing about its module.
      if (!worker.isReady && (signal === null || worker.leaving !== null)) bootFailures += 1;
      bury(worker, { how, options });
      if (bootFailures >= BOOT_FAILURES_MAX && !draining) options.onUnbootable(unbootable(worker, how));
      if (draining && pool.size === 0) empty.resolve();
    });
    return worker;
  };
  const occupied = (): number =>
    [...pool].filter(({ work, leaving }) => work !== null || isBusyLeaving(leaving)).length;
  return {
    free: () => workers - occupied(),
    take: (agent) => {
      const rested = idle();
      const fit = rested.find((each) => each.agent === agent) ?? rested.find((each) => each.agent === null);
      const [replaced] = rested;
      if (fit === undefined && replaced !== undefined && rested.length + occupied() >= workers)
        leave(replaced, REPLACED);
      const worker = fit ?? spawn();
      worker.agent = agent;
      return worker;
    },
    run: (worker, work) => {
      worker.work = { ...work, secret: randomBytes(16).toString("hex") };
      if (worker.isReady) send(worker, { work: worker.work, options });
    },
    drain: async (graceMs) => {
      draining = true;
      if (pool.size === 0) return;
      for (const worker of pool) {
        if (worker.work !== null) tell(worker, { kind: "drain" });
        else leave(worker, DRAINED);
      }
      const takeBack = [
        clock.after(graceMs, () => {
          for (const worker of pool) leave(worker, DRAINED);
        }),
        // A process that hangs in the kernel cannot die. It stays in the store, and the next supervisor waits for it.
        clock.after(graceMs + KILL_MS, empty.resolve),
      ];
      await empty.promise;
      for (const take of takeBack) take();
    },
  };
}

/**
 * A replaced idle worker occupies no place. A worker that is killed at its task occupies its place until it is gone.
 */
const isBusyLeaving = (leaving: Leaving | null): boolean => leaving !== null && leaving !== REPLACED;

function unbootable({ leaving }: Worker, how: string): WorkersUnbootable {
  return new WorkersUnbootable(
    `${BOOT_FAILURES_MAX} workers in a row ended before they were ready; the last one: ${leaving?.how ?? how}`,
  );
}

function spawnWorker(options: PoolOptions): Worker {
  const { module, args, execArgv, env } = options.worker;
  const child = fork(module, [...args], {
    execArgv: [...execArgv],
    env: { ...env },
    // The output of tools must not mix with the one document that a command prints on stdout.
    stdio: ["ignore", 2, 2, "ipc"],
    // It leads its own process group: what a tool started ends with it, and Ctrl-C reaches only the supervisor.
    detached: true,
  });
  // `exit` reports this too, except for a process that never started.
  child.on("error", () => {});
  const identity = child.pid === undefined ? null : identityOf(child.pid);
  if (identity === null) throw new WorkerUnavailable("the system refuses to start more processes for this user");
  // A worker without its channel cannot report anything, and what it started must not outlive it.
  for (const end of ["disconnect", "exit"]) child.on(end, () => killGroup(identity.pid));
  try {
    options.onSpawned(identity);
  } catch (error) {
    killGroup(identity.pid);
    throw error;
  }
  const worker: Worker = { child, identity, agent: null, isReady: false, work: null, leaving: null, spare: () => {} };
  killAfter(worker, { ms: BOOT_MS, how: "killed: it was not ready in time", options });
  return worker;
}

/** Sends the task. Its time begins now. */
function send(worker: Worker, of: { readonly work: Sent; readonly options: PoolOptions }): void {
  const { work, options } = of;
  const { clock, beatMs } = options;
  killAfter(worker, { ms: beatMs, how: "killed at its deadline", options });
  const { secret, task } = work;
  tell(worker, { kind: "task", secret, task, deadline: clock.now() + beatMs });
}

function killAfter(
  worker: Worker,
  of: { readonly ms: number; readonly how: string; readonly options: PoolOptions },
): void {
  worker.spare();
  worker.spare = of.options.clock.after(of.ms, () => leave(worker, { how: of.how, error: null }));
}

function hear(worker: Worker, of: { readonly message: FromChild; readonly options: PoolOptions }): void {
  const { message, options } = of;
  const { work } = worker;
  if (message.kind === "ready") {
    // Only the first such message comes from `serveTasks`; later ones come from an agent's code.
    if (worker.isReady) return;
    worker.isReady = true;
    worker.spare();
    if (work !== null) send(worker, { work, options });
  } else if (message.secret !== work?.secret) {
    return;
  } else if (message.kind === "failed") {
    leave(worker, { how: "the task threw", error: message.error });
  } else if (worker.leaving === null) {
    conclude(worker, { work, result: message.result });
  }
}

function conclude(worker: Worker, of: { readonly work: Work; readonly result: TaskResult }): void {
  const { work, result } = of;
  if (result.kind === "exit") {
    const answer = { kind: "beat", reply: result.reply } as const;
    return leave(worker, { how: "its process had to be replaced", error: null, answer });
  }
  if (result.kind !== work.task.kind)
    return leave(worker, { how: `it returned a result of another task: ${result.kind}`, error: null });
  worker.spare();
  worker.work = null;
  work.onEnd({ kind: "answered", answer: result });
}

/** Kills the worker. It may also end by itself, but nothing depends on that. */
function leave(worker: Worker, why: Leaving): void {
  worker.leaving ??= why;
  killGroup(worker.identity.pid);
}

function bury(worker: Worker, of: { readonly how: string; readonly options: PoolOptions }): void {
  const { work, leaving, identity } = worker;
  const end = leaving ?? { how: of.how, error: null };
  worker.spare();
  worker.leaving = end;
  of.options.onGone(identity, end.how);
  const answer = leaving?.answer;
  const hasDied = end !== DRAINED && worker.isReady;
  work?.onEnd(
    answer === undefined ? { kind: "failed", how: end.how, error: end.error, hasDied } : { kind: "answered", answer },
  );
}

/** Sends a message. If that fails, the worker's exit is about to be reported. */
function tell(worker: Worker, message: ToChild): void {
  worker.child.send(message, () => {});
}
