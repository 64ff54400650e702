/**
 * Dispatches the tasks of a chain to their implementations: beats, parking, continue-as-new, hand-over, sweeping,
 * clean-up, orphan removal and schedule firings.
 */
import type { Invocation, RunTask } from "../ports/tasks.ts";
import type { Task, TaskResult } from "../protocol/chain.ts";
import { beat } from "../engine/loop/beat.ts";
import { askInTime } from "../engine/tools/ask-in-time.ts";
import { StoreTime } from "../engine/context/store-time.ts";
import { cleanUp } from "../history/clean-up.ts";
import type { Incarnation } from "../protocol/row.ts";
import { fire } from "../features/schedules/fire.ts";
import { startRun } from "../operations/start.ts";
import { collectOrphans } from "./orphans.ts";
import { park, renew } from "../engine/loop/park.ts";
import type { Runner } from "../engine/context/runner.ts";
import { rescue, sweep } from "./sweep.ts";
import { withDeliveries } from "../features/webhooks/deliver.ts";

/**
 * The function that a process uses to run any task of a chain.
 *
 * Schedule 250: a client holds the store, and a park or a hand-over waits for it in one access after another, until its
 * process is killed at its deadline, with the beats beside it. So the accesses of each task of a run end in its time, as
 * those of a beat do. A sweep looks at its time between two runs.
 */
export function runTask(runner: Runner): RunTask {
  return (task, invocation) => {
    if (task.kind === "beat") return beat(runner, task, invocation);
    const { world } = new StoreTime(runner.world, invocation);
    switch (task.kind) {
      case "park":
        return park(world, task);
      case "renew":
        return renew(world, task.payload);
      case "rescue":
        return rescue(world, task, invocation);
      case "sweep":
        return withDeliveries(runner.world, invocation, sweep(runner.world, invocation));
      case "cleanUp":
        return cleanUpAll(world, task.removed, invocation);
      case "orphans":
        return collectOrphans(world, task.after).then((next) => ({ kind: "orphans", next }));
      case "firing":
        return firing({ ...runner, world }, task, invocation);
    }
  };
}

/** One after the other, as long as the invocation has time for the next. What is left is due again. */
async function cleanUpAll(
  world: Runner["world"],
  removed: readonly Incarnation[],
  { deadline, drain }: Invocation,
): Promise<TaskResult> {
  let done = 0;
  for (const incarnation of removed) {
    if (done > 0 && (drain.aborted || world.clock.now() >= deadline - world.limits.drainMs)) break;
    await cleanUp(world, incarnation);
    done += 1;
  }
  return { kind: "cleanUp", done };
}

async function firing(
  { world, agentOf }: Runner,
  { agent: name, tenant, at, watched }: Extract<Task, { readonly kind: "firing" }>,
  invocation: Invocation,
): Promise<TaskResult> {
  const leftMs = invocation.deadline - world.limits.drainMs - world.clock.now();
  const what = `the module of agent ${name}`;
  const said = await askInTime({ world, row: { run: "" }, leftMs }, { what }, () => agentOf(name));
  if (said.kind !== "said") throw new Error(`${what}: ${said.why}`);
  const found = said.value;
  if (found.kind === "absent") throw new Error(found.why);
  return fire(world, invocation, { agent: found.agent, tenant, at, watched, startRun });
}
