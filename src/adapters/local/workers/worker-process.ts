/**
 * One worker process of a supervisor, with the tasks that it has. It is stored before it gets a task, and is killed at
 * the deadline of each of its tasks, since leases rely on no process living longer.
 *
 * After a beat the process may go on with the next beat of the run by itself, which spares both processes a message, a
 * wake-up and a transaction. It says so before that beat begins, with the beat's deadline, and stops doing so once it is
 * asked to return (schedule 155).
 *
 * A failed task is reported only when its process is gone. Its retry may be sent at once, and must not run beside what
 * is left of it.
 *
 * Schedule 142: a call of one beat outlives its timeout, and its process has to end. Killed at once, the process takes
 * its other beats along, in the middle of calls that nothing can repeat (`unsafe`). So the process closes first: it gets
 * no more tasks, its other beats are asked to commit and end, and it is killed when they have. They have until the
 * deadline of the late task, whose lease covers the process until then.
 */
import { type ChildProcess, fork } from "node:child_process";
import type { Task, TaskResult } from "../../../protocol/chain.ts";
import type { WorkerOptions } from "../../../ports/supervision.ts";
import type { TaskError } from "../../../ports/supervisor-events.ts";
import type { Clock } from "../../../ports/world.ts";
import type { Answer } from "../../../protocol/execution.ts";
import { type ProcessIdentity, identityOfStarted, killGroup } from "./process-identity.ts";
import { type FromChild, type ToChild } from "./wire.ts";

/**
 * The outcome of a task. `how` says what ended its process; `error` is what the task threw, if the process reported it.
 */
export type TaskEnd =
  | { readonly kind: "answered"; readonly answer: Answer }
  /**
   * `hasDied` is true if the process ended and no other task could have caused that. It is false if the supervisor
   * stopped the process in order to stop itself, or if the process never got the task.
   */
  | { readonly kind: "failed"; readonly how: string; readonly error: TaskError | null; readonly hasDied: boolean };

export interface ProcessOptions {
  readonly worker: WorkerOptions;
  readonly beatMs: number;
  readonly clock: Clock;
  /** Stores a new worker. If this throws, the worker is killed and gets no task. */
  readonly onSpawned: (child: ProcessIdentity) => void;
  readonly onGone: (child: ProcessIdentity, how: string) => void;
  /** A worker has room for another task, since one began to wait for its model. */
  readonly onRoom: () => void;
  /** Calls it once the messages that arrived are read; by default in the next turn of the event loop. */
  readonly afterMessages?: (act: () => void) => void;
}

/** Why a worker is ending. */
interface Leaving {
  readonly how: string;
}

export const DRAINED: Leaving = { how: "killed: the supervisor is stopping" };
export const REPLACED: Leaving = { how: "killed: its place is kept for other tasks" };

export interface Work {
  readonly task: Task;
  /** The attempt with whose run the process may go on by itself; absent: it answers after this task. */
  readonly goesOn?: { readonly attempt: number; readonly onNext: () => void };
  readonly onEnd: (end: TaskEnd) => void;
}

/** What a task came to, which the chain gets once the process is gone. */
type Held =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "failed"; readonly how: string; readonly error: TaskError | null };

interface Sent extends Work {
  /** An answer counts only if it repeats this value. */
  readonly secret: string;
  held: Held | null;
  /** The process was asked to answer instead of going on. */
  isAskedBack: boolean;
  /** It waits for its model. */
  isWaiting: boolean;
  /** Cancels the kill at its deadline. */
  spare: () => void;
}

/** A worker process of the pool. */
export interface Worker {
  readonly child: ChildProcess;
  readonly identity: ProcessIdentity;
  /** The agent whose code it runs; null if no agent's code was ever loaded in it. */
  agent: string | null;
  isReady: boolean;
  /** When it was ready for the tasks of its agent, in milliseconds; null until then. */
  servesSince: number | null;
  /** Its tasks by their secrets. */
  readonly tasks: Map<string, Sent>;
  /** The room for tasks that it is about to get. */
  kept: number;
  /** It had no task when this round of placements began. */
  isIdle: boolean;
  /** It had none when the round before began, and got none in it. */
  wasIdle: boolean;
  /** How many its tasks allow it to have. */
  most: number;
  /** By its last answer, its memory is short. */
  isHeavy: boolean;
  /** The executions that it had, oldest first. */
  readonly known: Set<string>;
  /** Set once the worker gets no more tasks. It is killed for that reason when its last task is over. */
  closing: Leaving | null;
  /** Set once the worker is killed. */
  leaving: Leaving | null;
  /** Cancels the kill at the end of its boot. */
  spare: () => void;
}

/** A worker process could not be started. */
export class WorkerUnavailable extends Error {
  override readonly name = "WorkerUnavailable";
  readonly code = "WorkerUnavailable";
}

/** How long a child may take to load its module. */
const BOOT_MS = 30_000;

/** A worker that has no task yet and is not ready. */
export const newWorker = (child: ChildProcess, identity: ProcessIdentity): Worker => ({
  child,
  identity,
  agent: null,
  isReady: false,
  servesSince: null,
  isIdle: false,
  wasIdle: false,
  tasks: new Map(),
  kept: 0,
  most: 1,
  isHeavy: false,
  known: new Set(),
  closing: null,
  leaving: null,
  spare: () => {},
});

export function spawnWorker(options: ProcessOptions): Worker {
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
  const identity = child.pid === undefined ? null : identityOfStarted(child.pid);
  if (identity === null) throw new WorkerUnavailable("the system refuses to start more processes for this user");
  // A worker without its channel cannot report anything, and what it started must not outlive it.
  for (const end of ["disconnect", "exit"]) child.on(end, () => killGroup(identity.pid));
  try {
    options.onSpawned(identity);
  } catch (error) {
    killGroup(identity.pid);
    throw error;
  }
  const worker = newWorker(child, identity);
  worker.spare = options.clock.after(BOOT_MS, () => leave(worker, { how: "killed: it was not ready in time" }));
  return worker;
}

/** Gives the worker a task. Its time begins when the worker is ready. */
export function give(worker: Worker, of: { readonly work: Work; readonly secret: string } & Sending): void {
  const sent: Sent = {
    ...of.work,
    secret: of.secret,
    held: null,
    isAskedBack: false,
    isWaiting: false,
    spare: () => {},
  };
  worker.tasks.set(of.secret, sent);
  worker.isIdle = false;
  if (worker.isReady) send(worker, { sent, options: of.options });
}

interface Sending {
  readonly options: ProcessOptions;
}

/** Sends the task. Its time begins now. */
function send(worker: Worker, of: { readonly sent: Sent } & Sending): void {
  const { sent, options } = of;
  const { clock, beatMs } = options;
  killLate(worker, { sent, options, ms: beatMs });
  const { secret, task, goesOn } = sent;
  tell(worker, {
    kind: "task",
    secret,
    task,
    attempt: sent.isAskedBack ? null : (goesOn?.attempt ?? null),
    places: worker.most,
    deadline: clock.now() + beatMs,
  });
}

/**
 * Kills the worker at the deadline of that task.
 *
 * Race: the supervisor is stopped for longer than a beat (Ctrl-Z, a laptop's sleep) while its workers answer and go on.
 * When it continues, its timers fire before it reads what the workers said, and it would kill all of them. So it reads
 * the messages that are there before it judges (`a supervisor that was stopped reads what its workers said before it
 * judges them` in test/adapters/local/worker-process.test.ts, and a stopped process in
 * test/process/stopped-supervisor.long.test.ts).
 */
function killLate(worker: Worker, of: { readonly sent: Sent; readonly ms: number } & Sending): void {
  const { sent, options, ms } = of;
  const { clock, afterMessages = setImmediate } = options;
  sent.spare();
  let isSpared = false;
  const judge = (): void => {
    if (!isSpared) leave(worker, { how: "killed at its deadline" });
  };
  const takeBack = clock.after(ms, () => afterMessages(judge));
  sent.spare = () => {
    isSpared = true;
    takeBack();
  };
}

/** Asks the worker to answer the tasks that it has now, so that others get their places. */
export function askBack(worker: Worker): void {
  const kept = [...worker.tasks.values()].filter(({ goesOn, isAskedBack }) => goesOn !== undefined && !isAskedBack);
  for (const sent of kept) sent.isAskedBack = true;
  if (kept.length > 0 && worker.isReady && worker.leaving === null) tell(worker, { kind: "return" });
}

/** Takes a message of the worker. */
export function hear(worker: Worker, of: { readonly message: FromChild } & Sending): void {
  const { message, options } = of;
  if (message.kind === "ready") {
    // Only the first such message comes from `serveTasks`; later ones come from an agent's code.
    if (worker.isReady) return;
    worker.isReady = true;
    worker.servesSince = options.clock.now();
    worker.spare();
    for (const sent of worker.tasks.values()) send(worker, { sent, options });
    return;
  }
  const sent = worker.tasks.get(message.secret);
  if (sent === undefined || sent.held !== null || worker.leaving !== null) return;
  if (message.kind === "goesOn") {
    // No beat may last longer than any other one, whatever the process says.
    const ms = Math.min(message.deadline - options.clock.now(), options.beatMs);
    killLate(worker, { sent, options, ms: Number.isFinite(ms) ? ms : 0 });
    sent.goesOn?.onNext();
    return;
  }
  worker.isHeavy = message.isHeavy;
  if (message.kind === "waits") {
    sent.isWaiting = message.isWaiting;
    if (message.isWaiting) options.onRoom();
    return;
  }
  if (message.kind === "failed") {
    hold(worker, { sent, held: { kind: "failed", how: "the task threw", error: message.error } });
  } else {
    conclude(worker, { sent, result: message.result });
  }
}

function conclude(worker: Worker, of: { readonly sent: Sent; readonly result: TaskResult }): void {
  const { sent, result } = of;
  if (result.kind === "exit") {
    const answer = { kind: "beat", reply: result.reply } as const;
    return hold(worker, { sent, held: { kind: "answered", answer } });
  }
  if (result.kind !== sent.task.kind) {
    const how = `it returned a result of another task: ${result.kind}`;
    return hold(worker, { sent, held: { kind: "failed", how, error: null } });
  }
  sent.spare();
  worker.tasks.delete(sent.secret);
  leaveIfDone(worker);
  sent.onEnd({ kind: "answered", answer: result });
}

/** Keeps what the task came to until its process is gone, and closes the process. Its deadline stays. */
function hold(worker: Worker, of: { readonly sent: Sent; readonly held: Held }): void {
  const { sent, held } = of;
  sent.held = held;
  close(worker, { how: held.kind === "failed" ? held.how : "its process had to be replaced" });
  if (worker.leaving === null) tell(worker, { kind: "drain" });
}

/** Gives the worker no more tasks, and kills it when the ones that it has are over. */
export function close(worker: Worker, why: Leaving): void {
  worker.closing ??= why;
  askBack(worker);
  leaveIfDone(worker);
}

/** Kills a closing worker that has no task. One that is kept for a task is about to get it. */
export function leaveIfDone(worker: Worker): void {
  if (worker.closing === null || worker.kept > 0) return;
  if ([...worker.tasks.values()].every(({ held }) => held !== null)) leave(worker, worker.closing);
}

/** Kills the worker. It may also end by itself, but nothing depends on that. */
export function leave(worker: Worker, why: Leaving): void {
  worker.leaving ??= why;
  killGroup(worker.identity.pid);
}

/** Reports a worker that is gone, and the ends of its tasks. */
export function bury(worker: Worker, of: { readonly how: string } & Sending): void {
  const { tasks, leaving, identity, isReady } = worker;
  const end = leaving ?? { how: of.how };
  worker.spare();
  worker.leaving = end;
  of.options.onGone(identity, end.how);
  const lost = [...tasks.values()];
  tasks.clear();
  // Schedule 141: no task of several is to blame for the end of their process.
  const hasDied = end !== DRAINED && isReady && lost.length === 1;
  for (const { held, spare, onEnd } of lost) {
    spare();
    if (held === null) onEnd({ kind: "failed", how: end.how, error: null, hasDied });
    else onEnd(held.kind === "answered" ? held : { ...held, hasDied: true });
  }
}

/** Sends a message. If that fails, the worker's exit is about to be reported. */
export function tell(worker: Worker, message: ToChild): void {
  worker.child.send(message, () => {});
}
