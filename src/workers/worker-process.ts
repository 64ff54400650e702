/**
 * One worker process of a supervisor, with the tasks that it has. It is stored before it gets a task, and is killed at
 * the deadline of each of its tasks, since leases rely on no process living longer.
 *
 * After a beat the process may go on with the next beat of the run by itself, which spares both processes a message, a
 * wake-up and a transaction. It says so before that beat begins, with the beat's deadline, and stops doing so once it is
 * asked to return (schedule 155).
 *
 * A failed task is reported only when its process is gone. Its retry may be sent at once, and must not run beside what
 * is left of it. A task of which nothing is left is reported at once, and its process goes on (schedule 249).
 *
 * Schedule 142: a call of one beat outlives its timeout, and its process has to end. Killed at once, the process takes
 * its other beats along, in the middle of calls that nothing can repeat (`unsafe`). So the process closes first: it gets
 * no more tasks, its other beats are asked to commit and end, and it is killed when they have. They have until the
 * deadline of the late task, whose lease covers the process until then.
 */
import type { ChildProcess } from "node:child_process";
import type { Task, TaskResult } from "../protocol/chain.ts";
import type { WorkerOptions } from "../ports/supervision.ts";
import type { TaskError } from "../ports/supervisor-events.ts";
import type { Clock } from "../ports/world.ts";
import type { TaskAnswer } from "../protocol/execution.ts";
import type { AtWork } from "./at-work.ts";
import { killGroup } from "../adapters/local/process-identity.ts";
import type { ProcessIdentity } from "../ports/driven-store.ts";
import { type FromChild, HOLD_FROM_MS, HOLD_ON_MS, type LoadedCode, type ToChild } from "./wire.ts";

/**
 * The outcome of a task. `how` says what ended its process; `error` is what the task threw, if the process reported it.
 */
export type TaskEnd =
  | { readonly kind: "answered"; readonly answer: TaskAnswer }
  /**
   * `hasDied` is true if the process ended and no other task could have caused that. It is false if the supervisor
   * stopped the process in order to stop itself, if the machine had no room for it, or if the process never got the
   * task: then `isUnsent` is true.
   */
  | {
      readonly kind: "failed";
      readonly how: string;
      readonly error: TaskError | null;
      readonly hasDied: boolean;
      readonly isUnsent?: boolean;
    };

export interface ProcessOptions {
  readonly worker: WorkerOptions;
  readonly beatMs: number;
  readonly clock: Clock;
  /** Stores a new worker. If this throws, the worker is killed and gets no task. */
  readonly onSpawned: (child: ProcessIdentity) => void;
  readonly onGone: (child: ProcessIdentity, how: string) => void;
  /** A worker has room for another task, since one began to wait for its model. */
  readonly onRoom: () => void;
  /** The commit of a task waits for the store. */
  readonly onHeld: (why: string) => void;
  /** Milliseconds that have passed since some moment, also while the machine slept. Nobody can set it. */
  readonly counted: () => number;
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
  | { readonly kind: "answered"; readonly answer: TaskAnswer }
  | { readonly kind: "failed"; readonly how: string; readonly error: TaskError | null };

interface Sent extends Work {
  /** An answer counts only if it repeats this value. */
  readonly secret: string;
  held: Held | null;
  /** The process was asked to answer instead of going on. */
  isAskedBack: boolean;
  /** It waits for its model. */
  isWaiting: boolean;
  /** When its process has to be gone, as `counted` counts; null until it is sent. */
  goneBy: number | null;
  /** Its deadline has passed, and what the worker has said of it until now is being read. */
  isJudged: boolean;
  /** It outlives the deadline of its beat for its commit. */
  isHeldOn: boolean;
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
  /**
   * A digest of the code of its agent, which has not completed a beat on this machine; null: it has loaded none yet, and
   * `proven`: its runs may share it.
   */
  code: string | null;
  /** What code of agents it was at, once it is gone. */
  readonly atWork: AtWork | null;
  /** When it was ready for the tasks of its agent, in milliseconds; null until then. */
  servesSince: number | null;
  /** How many messages it has sent. */
  heard: number;
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

/** A worker that has no task yet and is not ready. */
export const newWorker = (
  child: ChildProcess,
  identity: ProcessIdentity,
  { atWork = null, tellsCode = false }: { readonly atWork?: AtWork | null; readonly tellsCode?: boolean } = {},
): Worker => ({
  child,
  identity,
  agent: null,
  isReady: false,
  code: tellsCode ? null : "proven",
  atWork,
  servesSince: null,
  heard: 0,
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

/** Gives the worker a task. Its time begins when the worker is ready. */
export function give(
  worker: Worker,
  given: { readonly work: Work; readonly secret: string } & WithProcessOptions,
): void {
  const sent: Sent = {
    ...given.work,
    secret: given.secret,
    held: null,
    isAskedBack: false,
    isWaiting: false,
    goneBy: null,
    isJudged: false,
    isHeldOn: false,
    spare: () => {},
  };
  worker.tasks.set(given.secret, sent);
  worker.isIdle = false;
  if (worker.isReady) send(worker, { sent, options: given.options });
}

export interface WithProcessOptions {
  readonly options: ProcessOptions;
}

/** Sends the task. Its time begins now. */
function send(worker: Worker, { sent, options }: { readonly sent: Sent } & WithProcessOptions): void {
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

/** Kills the worker at the deadline of that task, by the count of passed time: a clock that is set changes nothing. */
function killLate(worker: Worker, late: { readonly sent: Sent; readonly ms: number } & WithProcessOptions): void {
  const { sent, options, ms } = late;
  sent.spare();
  sent.isJudged = false;
  sent.goneBy = options.counted() + ms;
  sent.spare = options.clock.after(Math.max(0, ms), () => judge(worker, { sent, options }));
}

/**
 * Judges a task whose deadline has passed.
 *
 * Schedule 231: the supervisor is stopped for longer than a beat (Ctrl-Z, SIGSTOP, a laptop's sleep) while its workers
 * answer and go on, and would kill all of them when it continues. So a supervisor that comes late reads what its worker
 * has said, until a round brings nothing more. A worker that went on has a new deadline then. One that said nothing is
 * beyond the only deadline that it has, and is killed. Meanwhile nothing else begins (`hasJudged`), so nothing may claim
 * its run.
 */
function judge(worker: Worker, { sent, options }: { readonly sent: Sent } & WithProcessOptions): void {
  if (sent.isJudged) return;
  if (lateMs(sent, options) < HELD_UP_MS) return leave(worker, { how: "killed at its deadline" });
  sent.isJudged = true;
  readOn(worker, { sent, options, roundsLeft: READ_ROUNDS_MAX });
}

function readOn(worker: Worker, late: { readonly sent: Sent; readonly roundsLeft: number } & WithProcessOptions): void {
  const { sent, options, roundsLeft } = late;
  const { heard } = worker;
  sent.spare();
  sent.spare = options.clock.after(READ_ROUND_MS, () => {
    if (worker.heard === heard || roundsLeft === 1) leave(worker, OVERSLEPT);
    else readOn(worker, { sent, options, roundsLeft: roundsLeft - 1 });
  });
}

/** A supervisor that is later than this was held up, or its machine slept. */
export const HELD_UP_MS = 1_000;
/** How long it reads in one round, and in how many rounds at most. */
const READ_ROUND_MS = 50;
const READ_ROUNDS_MAX = 20;

export const OVERSLEPT: Leaving = { how: "killed after its deadline, at which the supervisor was stopped" };

export const lateMs = ({ goneBy }: Sent, { counted }: ProcessOptions): number =>
  goneBy === null ? 0 : counted() - goneBy;

/**
 * True if no task is beyond its deadline and not judged yet. It judges those whose timer has not fired, since the timers of
 * a machine stand still while it sleeps.
 */
export function hasJudged(worker: Worker, options: ProcessOptions): boolean {
  if (worker.leaving !== null) return true;
  const late = [...worker.tasks.values()].filter((sent) => lateMs(sent, options) >= HELD_UP_MS);
  for (const sent of late) judge(worker, { sent, options });
  return late.length === 0;
}

/** Asks the worker to answer the tasks that it has now, so that others get their places. */
export function askBack(worker: Worker): void {
  const kept = [...worker.tasks.values()].filter(({ goesOn, isAskedBack }) => goesOn !== undefined && !isAskedBack);
  for (const sent of kept) sent.isAskedBack = true;
  if (kept.length > 0 && worker.isReady && worker.leaving === null) tell(worker, { kind: "return" });
}

/** Takes a message of the worker. */
export function hear(
  worker: Worker,
  { message, options }: { readonly message: Exclude<FromChild, LoadedCode> } & WithProcessOptions,
): void {
  worker.heard += 1;
  if (message.kind === "ready") {
    // Only the first such message comes from `serveTasks`; later ones come from an agent's code. One that was on its way when
    // the supervisor ended the process gets no task: its tasks would count as begun.
    if (worker.isReady || worker.leaving !== null) return;
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
    sent.isHeldOn = false;
    sent.goesOn?.onNext();
    return;
  }
  if (message.kind === "holdsOn") return holdOn(worker, { sent, options, why: message.why });
  worker.isHeavy = message.isHeavy;
  if (message.kind === "waits") {
    sent.isWaiting = message.isWaiting;
    if (message.isWaiting) options.onRoom();
    return;
  }
  if (message.kind === "failed" && message.isOver === true) {
    const { error } = message;
    end(worker, { sent, end: { kind: "failed", how: "the task threw", error, hasDied: false } });
  } else if (message.kind === "failed") {
    hold(worker, { sent, held: { kind: "failed", how: "the task threw", error: message.error } });
  } else {
    conclude(worker, { sent, result: message.result });
  }
}

/**
 * Schedule 236: the process may outlive its deadline for this commit as long as it says so. Far from its deadline it may
 * begin more once the store is free, so its deadline stays then.
 */
function holdOn(worker: Worker, holding: { readonly sent: Sent; readonly why: string } & WithProcessOptions): void {
  const { sent, options, why } = holding;
  const leftMs = -lateMs(sent, options);
  sent.isHeldOn ||= leftMs < HOLD_FROM_MS;
  if (sent.isHeldOn && leftMs < HOLD_ON_MS) killLate(worker, { sent, options, ms: HOLD_ON_MS });
  options.onHeld(why);
}

function conclude(worker: Worker, { sent, result }: { readonly sent: Sent; readonly result: TaskResult }): void {
  if (result.kind === "exit") {
    const answer = { kind: "beat", reply: result.reply } as const;
    return hold(worker, { sent, held: { kind: "answered", answer } });
  }
  if (result.kind !== sent.task.kind) {
    const how = `it returned a result of another task: ${result.kind}`;
    return hold(worker, { sent, held: { kind: "failed", how, error: null } });
  }
  end(worker, { sent, end: { kind: "answered", answer: result } });
}

/**
 * Ends a task of which nothing is left in its process.
 *
 * Schedule 249: a client holds the store. One of several beats in a process cannot claim its run, and throws. If its process
 * were replaced for that, it would be killed at the deadline of that beat, with others that wait for their commit.
 */
function end(worker: Worker, over: { readonly sent: Sent; readonly end: TaskEnd }): void {
  const { sent } = over;
  sent.spare();
  worker.tasks.delete(sent.secret);
  leaveIfDone(worker);
  sent.onEnd(over.end);
}

/** Keeps what the task came to until its process is gone, and closes the process. Its deadline stays. */
function hold(worker: Worker, { sent, held }: { readonly sent: Sent; readonly held: Held }): void {
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

/** Sends a message. If that fails, the worker's exit is about to be reported. */
export function tell(worker: Worker, message: ToChild): void {
  worker.child.send(message, () => {});
}
