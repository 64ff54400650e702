/**
 * The worker process of the embedded chain. It runs the tasks that it gets, at the same time. It ends as soon as its
 * channel closes, so that it does not outlive a killed supervisor. It also ends at the deadline of any of its tasks, in
 * case a frozen supervisor cannot kill it: no process may act for a run after its lease.
 *
 * A process in which a task threw is not used again. A part of that task may still be running, and would go on inside a
 * later invocation (schedule 28). The same holds after an uncaught error. Such a process ends once its other tasks have,
 * and at the deadline of that task at the latest (schedule 142). It goes on after a task that no store answered, if nothing
 * of that task may still act (schedule 249).
 *
 * Schedule 227: code of one run changes a function of the language, with which no record can be written or read any more.
 * The process reports that for each of its tasks and ends at once.
 *
 * After a beat that leads to the next one at once, the process goes on with that beat itself. It does not once it is
 * asked to return or to end, when its memory is short, or when it is to be replaced: then the supervisor decides where
 * the next beat runs. The supervisor knows of each beat and its deadline before the beat begins (schedule 155).
 */
import { stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import type { Reply, Task, TaskResult } from "../protocol/chain.ts";
import type { RunTask } from "../ports/tasks.ts";
import { sentenceOf, stackOf } from "../codec/value.ts";
import type { IntrinsicChanged } from "../ports/intrinsics.ts";
import { type Clock, StoreUnreachable } from "../ports/world.ts";
import { punctually, systemClock } from "../adapters/local/clock.ts";
import { type BeatPlaces, createPlaces } from "./places.ts";
import { killGroup } from "../adapters/local/process-identity.ts";
import { fileCode } from "../adapters/local/store/store-errors.ts";
import type { TaskError } from "../ports/supervisor-events.ts";
import { type FromChild, HOLD_FROM_MS, HOLD_ON_MS, type ToChild } from "./wire.ts";

export interface ServeOptions {
  /** Removes secrets from the text of errors. */
  readonly clean?: (text: string) => string;
  /** The supervisor's clock, in which deadlines are given. */
  readonly clock?: Clock;
  /** How to go on with the next beat of a run; absent: each beat is answered. */
  readonly goOn?: GoOn;
}

export interface GoOn {
  /** Stores that the attempt goes on with the next beat, and returns that beat; null if the supervisor decides. */
  readonly next: (answered: {
    readonly execution: string;
    readonly attempt: number;
    readonly reply: Reply;
  }) => Task | null;
  /** How long a beat may take. */
  readonly beatMs: number;
}

/** What else this process does with its tasks. */
export interface Served {
  /** Reports all tasks as not done, and ends the process at once. The run of the culprit learns what it changed. */
  readonly giveBack: (error: IntrinsicChanged) => void;
  /** The code of that agent is loaded, and none of its functions ran yet; null: there is none that could be loaded. */
  readonly loaded: (code: { readonly agent: string; readonly code: string } | null) => void;
}

/** Serves the supervisor that forked this process. An uncaught error between tasks ends the process. */
export function serveTasks(run: RunTask, options: ServeOptions = {}): Served {
  const { clean = (text) => text, clock = systemClock, goOn = null } = options;
  if (process.send === undefined) throw new Error("serveTasks serves a supervisor: fork this module, do not run it");
  const drain = new AbortController();
  const places = createPlaces(clock);
  const channel = takeChannel((message) => {
    if (message.kind === "drain") drain.abort();
    else if (message.kind === "return") for (const held of inHand) held.mustReturn = true;
    else void serve(run, { ...message, drain: drain.signal, clean, channel, clock, goOn, taken: places });
  });
  // A tool may close a stream for the whole process. Later output is lost, and the process goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("disconnect", end);
  // A signal to all processes is meant for the supervisor, which decides what it means for its workers.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  // The error may come from an earlier task, perhaps of another run. So the current task goes on.
  process.on("uncaughtException", (error: unknown) => {
    complain(`uncaught error in worker ${process.pid}: ${clean(stackOf(error) ?? sentenceOf(error))}`);
    if (inHand.size === 0) exit();
    isSpent = true;
  });
  void threadsAreThere().then(() => channel({ kind: "ready" }));
  return {
    giveBack: (error) => giveBack(error, channel),
    loaded: (code) => channel({ kind: "loaded", agent: code?.agent ?? null, code: code?.code ?? null }),
  };
}

/**
 * Resolves once this process has the threads on which Node reads files and looks up names. It makes all of them at the
 * first such work, and ends the process if the machine has no room for them. A process that is ready has them, so it
 * does not end in the middle of a beat (schedule 241).
 */
async function threadsAreThere(): Promise<void> {
  await stat(process.execPath).catch(() => {});
}

const { apply } = Reflect;
// Kept here, since a tool may have replaced it.
const forEach = Reflect.get(Set.prototype, "forEach") as (this: void) => unknown;

/**
 * Uses nothing of what may be broken: no iterator, no method of a text or list. The supervisor kills the process as well,
 * once it has read the reports.
 */
function giveBack({ name, code, message, culprit }: IntrinsicChanged, channel: Channel): void {
  let unsent = inHand.size;
  const report = ({ secret, run }: Held): void => {
    // Without a prototype: a `toJSON` that cannot be taken back from `Object.prototype` would write something else.
    const told: TaskError & Bare = { __proto__: null, name, code, message };
    const changed =
      culprit === null
        ? null
        : { __proto__: null, intrinsic: culprit.intrinsic, tool: culprit.tool, epoch: culprit.epoch };
    const error = changed !== null && run === culprit?.run ? { __proto__: null, name, code, message, changed } : told;
    const failed: FromChild & Bare = { __proto__: null, kind: "failed", secret, error, isHeavy: false };
    channel(failed, () => {
      unsent -= 1;
      if (unsent === 0) end();
    });
  };
  apply(forEach, inHand, [report]);
  if (unsent === 0) end();
}

/** An object that inherits nothing. */
interface Bare {
  readonly __proto__: null;
}

/** Sends a message to the supervisor; `then` is called when the message has left, or cannot. */
type Channel = (message: FromChild, then?: () => void) => void;

/**
 * Keeps the IPC channel to the supervisor for this module, and hides it from agents and tools, which run in the same
 * process. Some libraries call `process.send("ready")` if they can, for process managers such as pm2. The supervisor
 * must not get such messages.
 */
function takeChannel(onMessage: (message: ToChild) => void): Channel {
  const send: unknown = Reflect.get(process, "send");
  const emit = process.emit.bind(process) as (name: string, ...given: unknown[]) => boolean;
  // Node holds messages back until there is a listener.
  process.on("message", () => {});
  process.emit = ((name: string, ...given: unknown[]): boolean => {
    if (name !== "message") return emit(name, ...given);
    onMessage(given[0] as ToChild);
    return true;
  }) as typeof process.emit;
  Reflect.deleteProperty(process, "send");
  return (message, then = () => {}) =>
    void Reflect.apply(send as Channel, process, [message, undefined, undefined, then]);
}

function complain(line: string): void {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // The stream is closed, so the line is lost.
  }
}

/** A task that is not answered yet. */
interface Held {
  readonly secret: string;
  /** The run of the task; null for a task of the house. */
  readonly run: string | null;
  /** Other tasks wait for its place. */
  mustReturn: boolean;
}

const inHand = new Set<Held>();
/** An uncaught error came from an earlier task. */
let isSpent = false;

interface Serving {
  readonly taken: BeatPlaces;
  readonly drain: AbortSignal;
  readonly clean: (text: string) => string;
  readonly channel: Channel;
  readonly clock: Clock;
  readonly goOn: GoOn | null;
}

async function serve(run: RunTask, serving: Extract<ToChild, { readonly kind: "task" }> & Serving): Promise<void> {
  const { secret, task, deadline, clean, channel, clock, taken } = serving;
  const held: Held = { secret, run: "payload" in task ? task.payload.run : null, mustReturn: false };
  // Its own deadline waits for nothing: what a late process reads would make the code of a run go on.
  let spare = punctually(deadline - clock.now(), end);
  let endsAt = performance.now() + deadline - clock.now();
  let [isHeldOn, mayAct] = [false, false];
  const endIn = (ms: number): void => {
    spare();
    endsAt = performance.now() + ms;
    spare = punctually(ms, end);
  };
  /** The process must have ended by then, since the supervisor knows that time. */
  const goOnUntil = (next: number): void => {
    isHeldOn = false;
    endIn(next - clock.now());
    channel({ kind: "goesOn", secret, deadline: next });
  };
  const holdOn = (why: string): boolean => {
    // A write that outlives its task must not end the process, in which other runs go on.
    if (!inHand.has(held)) return isHeldOn;
    const leftMs = endsAt - performance.now();
    isHeldOn ||= leftMs < HOLD_FROM_MS;
    if (isHeldOn) endIn(Math.max(HOLD_ON_MS, leftMs));
    channel({ kind: "holdsOn", secret, why });
    return isHeldOn;
  };
  try {
    inHand.add(held);
    taken.allow(serving.places);
    taken.take();
    const mustEnd = (): void => void (mayAct = true);
    const done = await runBeats(run, { ...serving, held, task, deadline, goOnUntil, holdOn, mustEnd });
    const result: TaskResult = isSpent && done.kind === "beat" ? { kind: "exit", reply: done.reply } : done;
    inHand.delete(held);
    if (result.kind !== "exit") spare();
    channel({ kind: "answered", secret, result, isHeavy: isHeavy() }, result.kind === "exit" ? exitIfIdle : undefined);
  } catch (error) {
    inHand.delete(held);
    const told = taskError(error);
    // What outlived its timeout, and whatever a bug left behind, ends with the process.
    const isOver = error instanceof StoreUnreachable && !mayAct && !isSpent;
    // The process lives on, so the deadline of this task must not end it.
    if (isOver) spare();
    channel(
      { kind: "failed", secret, error: { ...told, message: clean(told.message) }, isOver, isHeavy: isHeavy() },
      isOver ? undefined : exitIfIdle,
    );
  } finally {
    taken.leave();
  }
}

type Going = Extract<ToChild, { readonly kind: "task" }> &
  Serving & {
    readonly held: Held;
    readonly goOnUntil: (deadline: number) => void;
    readonly holdOn: (why: string) => boolean;
    readonly mustEnd: () => void;
  };

/** Runs the task, and the beats of its run that follow, as long as this process goes on with them. */
async function runBeats(run: RunTask, going: Going): Promise<TaskResult> {
  const { drain, clock, goOn, goOnUntil, holdOn, mustEnd } = going;
  const returnsFrom = clock.now() + SHARE_MS;
  const stepAside = asideOf(going);
  let result = await run(going.task, { deadline: going.deadline, drain, stepAside, holdOn, mustEnd });
  for (;;) {
    const next = await nextBeat(result, { ...going, returnsFrom });
    if (next === null || goOn === null) return result;
    const deadline = clock.now() + goOn.beatMs;
    goOnUntil(deadline);
    result = await run(next, { deadline, drain, stepAside, holdOn, mustEnd });
  }
}

/**
 * Gives the place of a beat away while it waits for its model. The supervisor hears of a wait only when it has lasted for a
 * moment, so that the beats of a fast model send no messages.
 */
function asideOf({ secret, channel, clock, drain, taken }: Going): () => (ms: number) => Promise<void> {
  return () => {
    let isTold = false;
    const tell = (isWaiting: boolean): void => {
      isTold = isWaiting;
      channel({ kind: "waits", secret, isWaiting, isHeavy: isHeavy() });
    };
    taken.leave();
    const forget = clock.after(MOMENT_MS, () => tell(true));
    return (ms) => {
      forget();
      if (isTold) tell(false);
      return taken.takeAgain(ms, drain);
    };
  };
}

const MOMENT_MS = 10;

/** How long a run keeps its place in any case, so that a fast model does not make each beat pass through two processes. */
const SHARE_MS = 100;

async function nextBeat(result: TaskResult, going: Going & { readonly returnsFrom: number }): Promise<Task | null> {
  const { task, attempt, goOn, held, drain, clock, returnsFrom } = going;
  const isOffered = result.kind === "beat" && result.reply.route === "beat" && task.kind === "beat";
  if (!isOffered || attempt === null || goOn === null) return null;
  // Messages and timers get their turn, also if all these beats wait for nothing.
  await setImmediate();
  const isAskedBack = held.mustReturn && clock.now() >= returnsFrom;
  if (isAskedBack || isSpent || drain.aborted || isHeavy()) return null;
  try {
    return goOn.next({ execution: task.attempt.execution, attempt, reply: result.reply });
  } catch {
    // The beat is committed. The supervisor stores its answer, and retries if the store is away.
    return null;
  }
}

function isHeavy(): boolean {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used > limit / 2;
}

/** The supervisor ends a process with other tasks once they are over. */
function exitIfIdle(): void {
  if (inHand.size === 0) exit();
}

const exit = (): never => process.exit(1);

/** Ends this process at once, with everything that its tools started. */
function end(): never {
  killGroup(process.pid);
  return exit();
}

/** Describes any thrown value, also one whose properties throw. */
export function taskError(error: unknown): TaskError {
  const message = sentenceOf(error);
  try {
    if (error instanceof Error) return { name: String(error.name), code: fileCode(error), message };
  } catch {
    // Only its sentence is known.
  }
  return { name: "Error", code: null, message };
}
