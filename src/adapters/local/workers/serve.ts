/**
 * The worker process of the embedded chain. It runs the tasks that it gets, at the same time. It ends as soon as its
 * channel closes, so that it does not outlive a killed supervisor. It also ends at the deadline of any of its tasks, in
 * case a frozen supervisor cannot kill it: no process may act for a run after its lease.
 *
 * A process in which a task threw is not used again. A part of that task may still be running, and would go on inside a
 * later invocation (schedule 28). The same holds after an uncaught error. Such a process ends once its other tasks have,
 * and at the deadline of that task at the latest (schedule 142).
 */
import { getHeapStatistics } from "node:v8";
import type { TaskResult } from "../../../protocol/chain.ts";
import type { RunTask } from "../../../ports/tasks.ts";
import { sentenceOf, stackOf } from "../../../codec/value.ts";
import type { Clock } from "../../../ports/world.ts";
import { systemClock } from "../clock.ts";
import { killGroup } from "./process-identity.ts";
import { fileCode } from "../store/store-errors.ts";
import type { TaskError } from "../../../ports/supervisor-events.ts";
import type { FromChild, ToChild } from "./wire.ts";

export interface ServeOptions {
  /** Removes secrets from the text of errors. */
  readonly clean?: (text: string) => string;
  /** The supervisor's clock, in which deadlines are given. */
  readonly clock?: Clock;
}

/** Serves the supervisor that forked this process. An uncaught error between tasks ends the process. */
export function serveTasks(run: RunTask, options: ServeOptions = {}): void {
  const { clean = (text) => text, clock = systemClock } = options;
  if (process.send === undefined) throw new Error("serveTasks serves a supervisor: fork this module, do not run it");
  const drain = new AbortController();
  const channel = takeChannel((message) => {
    if (message.kind === "drain") drain.abort();
    else void serve(run, { ...message, drain: drain.signal, clean, channel, clock });
  });
  // A tool may close a stream for the whole process. Later output is lost, and the process goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("disconnect", end);
  // A signal to all processes is meant for the supervisor, which decides what it means for its workers.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  // The error may come from an earlier task, perhaps of another run. So the current task goes on.
  process.on("uncaughtException", (error: unknown) => {
    complain(`uncaught error in worker ${process.pid}: ${clean(stackOf(error) ?? sentenceOf(error))}`);
    if (inHand === 0) exit();
    isSpent = true;
  });
  channel({ kind: "ready" });
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
  const emit = process.emit.bind(process) as (name: string, ...of: unknown[]) => boolean;
  // Node holds messages back until there is a listener.
  process.on("message", () => {});
  process.emit = ((name: string, ...of: unknown[]): boolean => {
    if (name !== "message") return emit(name, ...of);
    onMessage(of[0] as ToChild);
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

/** Tasks that are not answered yet, and whether an uncaught error came from an earlier task. */
let inHand = 0;
let isSpent = false;

async function serve(
  run: RunTask,
  of: Extract<ToChild, { readonly kind: "task" }> & {
    readonly drain: AbortSignal;
    readonly clean: (text: string) => string;
    readonly channel: Channel;
    readonly clock: Clock;
  },
): Promise<void> {
  const { secret, task, deadline, drain, clean, channel, clock } = of;
  const spare = clock.after(deadline - clock.now(), end);
  try {
    inHand += 1;
    const done = await run(task, { deadline, drain });
    const result: TaskResult = isSpent && done.kind === "beat" ? { kind: "exit", reply: done.reply } : done;
    inHand -= 1;
    if (result.kind !== "exit") spare();
    channel({ kind: "answered", secret, result, isHeavy: isHeavy() }, result.kind === "exit" ? exitIfIdle : undefined);
  } catch (error) {
    inHand -= 1;
    const told = taskError(error);
    channel(
      { kind: "failed", secret, error: { ...told, message: clean(told.message) }, isHeavy: isHeavy() },
      exitIfIdle,
    );
  }
}

function isHeavy(): boolean {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used > limit / 2;
}

/** The supervisor ends a process with other tasks once they are over. */
function exitIfIdle(): void {
  if (inHand === 0) exit();
}

const exit = (): never => process.exit(1);

/** Ends this process at once, with everything that its tools started. */
function end(): never {
  killGroup(process.pid);
  return exit();
}

/** Describes any thrown value, also one whose properties throw. */
function taskError(error: unknown): TaskError {
  const message = sentenceOf(error);
  try {
    if (error instanceof Error) return { name: String(error.name), code: fileCode(error), message };
  } catch {
    // Only its sentence is known.
  }
  return { name: "Error", code: null, message };
}
