/**
 * The child's side of the embedded chain: one task at a time, and no life of its own. It ends as soon as its channel
 * closes, so that a supervisor that is killed takes its children along, and at its task's deadline even if the
 * supervisor is frozen and cannot kill it: nothing may act for a run after its lease.
 *
 * A process in which a task threw is not used again. Something of that task may still be running in it, and would go
 * on inside a later invocation (schedule 28). Neither is one in which an error turned up that nobody caught.
 */
import type { TaskResult } from "../../protocol/chain.ts";
import type { RunTask } from "../../ports/tasks.ts";
import { sentenceOf, stackOf } from "../../codec/value.ts";
import type { Clock } from "../../ports/world.ts";
import { systemClock } from "./clock.ts";
import { killGroup } from "./process-identity.ts";
import { fileCode } from "./store-errors.ts";
import type { TaskError } from "../../ports/supervisor-events.ts";
import type { FromChild, ToChild } from "./wire.ts";

export interface ServeOptions {
  /** Takes secrets out of what is told of errors. */
  readonly clean?: (text: string) => string;
  /** The supervisor's: deadlines are times of it. */
  readonly clock?: Clock;
}

/** Serves the supervisor that forked this process. An uncaught error ends it, as Node does by itself. */
export function serveTasks(run: RunTask, options: ServeOptions = {}): void {
  const { clean = (text) => text, clock = systemClock } = options;
  if (process.send === undefined) throw new Error("serveTasks serves a supervisor: fork this module, do not run it");
  const drain = new AbortController();
  const channel = takeChannel((message) => {
    if (message.kind === "drain") drain.abort();
    else void serve(run, { ...message, drain: drain.signal, clean, channel, clock });
  });
  // A tool may close a stream for the whole process. What is printed after that is lost, and the process goes on.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  process.on("disconnect", end);
  // Whoever sends these to all processes means the supervisor, and that decides what they mean for a child.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
  // Left behind by a task that is over, perhaps of another run: the task in hand is not to blame, and goes on.
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
 * Keeps the IPC channel to the supervisor for this module, and hides it from agents and tools, which run in the same process.
 * Some libraries call `process.send("ready")` if they can, for process managers such as pm2; the supervisor must not get that.
 */
function takeChannel(onMessage: (message: ToChild) => void): Channel {
  const send: unknown = Reflect.get(process, "send");
  const emit = process.emit.bind(process) as (name: string, ...of: unknown[]) => boolean;
  // Node holds messages back until a listener is there.
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

/** Tasks that are not answered yet, and whether something of an earlier one came to light. */
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
    spare();
    channel({ kind: "answered", secret, result }, result.kind === "exit" ? exit : undefined);
    inHand -= 1;
  } catch (error) {
    const told = taskError(error);
    channel({ kind: "failed", secret, error: { ...told, message: clean(told.message) } }, exit);
  }
}

const exit = (): never => process.exit(1);

/** At once, with all that its tools started. */
function end(): never {
  killGroup(process.pid);
  return exit();
}

/** Of anything that can be thrown, also where reading it throws. */
function taskError(error: unknown): TaskError {
  const message = sentenceOf(error);
  try {
    if (error instanceof Error) return { name: String(error.name), code: fileCode(error), message };
  } catch {
    // It says nothing of itself but that sentence.
  }
  return { name: "Error", code: null, message };
}
