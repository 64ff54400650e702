/**
 * Dispatches the tasks of a chain to their implementations: beats, parking, continue-as-new, hand-over, sweeping,
 * clean-up, orphan removal and schedule firings.
 */
import type { Invocation, RunTask } from "../ports/tasks.ts";
import type { Task, TaskResult } from "../protocol/chain.ts";
import { beat } from "../engine/loop/beat.ts";
import { cleanUp } from "../history/clean-up.ts";
import { fire } from "./firing.ts";
import { collectOrphans } from "./orphans.ts";
import { park, renew } from "../engine/loop/park.ts";
import type { Runner } from "../engine/context/runner.ts";
import { rescue, sweep } from "./sweep.ts";
import { withDeliveries } from "./webhooks/alongside.ts";

/** The function that a process uses to run any task of a chain. */
export function runTask(runner: Runner): RunTask {
  return (task, invocation) => {
    switch (task.kind) {
      case "beat":
        return beat(runner, task, invocation);
      case "park":
        return park(runner.world, task);
      case "renew":
        return renew(runner.world, task.payload);
      case "rescue":
        return rescue(runner.world, task, invocation);
      case "sweep":
        return withDeliveries(runner.world, invocation, sweep(runner.world, invocation));
      case "cleanUp":
        return cleanUp(runner.world, task).then(() => ({ kind: "cleanUp" }));
      case "orphans":
        return collectOrphans(runner.world, task.after).then((next) => ({ kind: "orphans", next }));
      case "firing":
        return firing(runner, task, invocation);
    }
  };
}

async function firing(
  { world, agentOf }: Runner,
  { agent: name, tenant, at, watched }: Extract<Task, { readonly kind: "firing" }>,
  invocation: Invocation,
): Promise<TaskResult> {
  const found = await agentOf(name);
  if (found.kind === "absent") throw new Error(found.why);
  return fire(world, invocation, { agent: found.agent, tenant, at, watched });
}
