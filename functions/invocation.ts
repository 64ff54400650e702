/** The life of one invocation. */
import { sentenceOf, stackOf } from "../src/codec/value.ts";
import type { Invocation } from "../src/ports/tasks.ts";
import { StoreUnreachable, type World } from "../src/ports/world.ts";
import type { TaskResult } from "../src/protocol/chain.ts";
import { alarm } from "../src/history/alarm.ts";

/** What a function reads of the context that Lambda hands it. */
export interface LambdaContext {
  readonly getRemainingTimeInMillis: () => number;
}

export interface Circumstances {
  readonly world: Pick<World, "limits" | "clock" | "telemetry" | "secrets">;
  readonly context: LambdaContext;
  /** The one that the task is about, if it is about one. */
  readonly run?: string;
}

/**
 * One task, from the moment that Lambda hands it over to its result. The deadline is Lambda's own; shortly before it the
 * task is asked to come to an end, while there is time to commit.
 *
 * Schedule 28: something of the task outlived its time. Lambda freezes a process between invocations, so it would go on
 * within a later one. The process ends before it answers: the retry of the entry finds the commit and goes on.
 *
 * A task that fails because a store does not answer raises an alarm, which needs no store.
 *
 * Schedule 78: the same holds where the task throws, for example since the table is away when the run is to be released.
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
      `this process ends, for something in it may still act: ${stackOf(error) ?? sentenceOf(error)}\n`,
    );
    return process.exit(1);
  } finally {
    forget();
  }
}
