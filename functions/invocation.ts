/** Runs one task within one Lambda invocation. */
import { sentenceOf, stackOf } from "../src/codec/value.ts";
import type { Intrinsics } from "../src/ports/intrinsics.ts";
import type { Invocation } from "../src/ports/tasks.ts";
import { StoreUnreachable, type World } from "../src/ports/world.ts";
import type { TaskResult } from "../src/protocol/chain.ts";
import { alarm } from "../src/history/alarm.ts";

/** The fields of Lambda's context that a function reads. */
export interface LambdaContext {
  readonly getRemainingTimeInMillis: () => number;
}

export interface Circumstances {
  readonly world: Pick<World, "limits" | "clock" | "telemetry" | "secrets">;
  readonly context: LambdaContext;
  /** The run of the task, if it has one. */
  readonly run?: string;
}

/**
 * Ends a process in which code of an agent has changed a function of the language. Its invocation has answered that, and
 * Lambda may use the process for a run that has nothing to do with it. That run has no owner yet, so this is no death.
 */
export function endIfChanged({ check }: Intrinsics): void {
  try {
    check();
  } catch {
    process.exit(1);
  }
}

/**
 * Runs one task to its result. The deadline is Lambda's own; shortly before it the task is asked to drain, while there
 * is time to commit. A task that fails because a store does not answer raises an alarm, which needs no store.
 *
 * Schedule 28: a call outlives its timeout. Lambda freezes a process between invocations, so the call would go on
 * within a later one. The process ends before it answers; the retry of the entry finds the commit and goes on.
 *
 * Schedule 78: the same holds if the task throws, for example because the table is away when the run should be
 * released.
 */
export async function invocation<Result extends TaskResult>(
  { world, context, run = "" }: Circumstances,
  task: (invocation: Invocation) => Promise<Result>,
): Promise<Exclude<Result, { readonly kind: "exit" }>> {
  const { drainMs } = world.limits;
  const leftMs = context.getRemainingTimeInMillis();
  const drain = new AbortController();
  let isOver = true;
  const mustEnd = (): void => {
    isOver = false;
  };
  const { clock } = world;
  const forget = clock.after(Math.max(0, leftMs - drainMs), () => drain.abort());
  try {
    const result = await task({ deadline: clock.now() + leftMs, drain: drain.signal, mustEnd });
    if (result.kind === "exit") process.exit(1);
    return result as Exclude<Result, { readonly kind: "exit" }>;
  } catch (error) {
    if (error instanceof StoreUnreachable) alarm(world, run, { what: "StoreUnavailable", why: error.message });
    if (isOver) throw error;
    process.stderr.write(
      `this process ends, because something in it may still act: ${stackOf(error) ?? sentenceOf(error)}\n`,
    );
    return process.exit(1);
  } finally {
    forget();
  }
}
