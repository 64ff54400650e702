/**
 * The function of the sweeper. Schedules invoke it for all runs and for all objects. The states Renew and Rescue invoke
 * it for one run, and beats for the notifications that they noted.
 */
import { withKernel } from "../src/features/compose.ts";
import type { DeliveryTask } from "../src/adapters/aws/delivery-requests.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import type { Task, TaskResult } from "../src/protocol/chain.ts";
import { collectAllOrphans } from "../src/maintenance/orphans.ts";
import { renew } from "../src/engine/loop/park.ts";
import { rescue, sweep } from "../src/maintenance/sweep.ts";
import { withDeliveries } from "../src/features/webhooks/deliver.ts";
import { type LambdaContext, invocation } from "./invocation.ts";
import { type AskedRescue, readRescue } from "./machine.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { deployment, settingsOf } from "./settings.ts";
import { webhooksOf } from "./webhooks.ts";

const hooks = webhooksOf();
// Only the keys of webhooks: it runs no agent.
const secrets = hooks.webhooks === undefined ? {} : { secrets: secretsOf() };
const world = { ...withKernel(awsWorld({ ...settingsOf("sweep"), ...secrets, sealKeys: sealKeysOf() })), ...hooks };
const options = { deployment: deployment() };

type Sweep = Extract<Task, { readonly kind: "sweep" | "orphans" | "renew" }> | AskedRescue | DeliveryTask;

/** The input of the state after Rescue: `wait` for `seconds` while an owner holds the run, else `done`. */
export interface Rescued {
  readonly route: "wait" | "done";
  readonly seconds: number;
}

export async function handler(task: Sweep, context: LambdaContext): Promise<Rescued | null> {
  const run = "payload" in task ? task.payload.run : "";
  const result = await invocation({ world, context, run }, (own) => {
    switch (task.kind) {
      case "sweep":
        return withDeliveries(world, own, sweep(world, own, options));
      case "deliver":
        return withDeliveries<TaskResult>(world, own, Promise.resolve({ kind: "sweep" }));
      case "orphans":
        return collectAllOrphans(world, own);
      case "renew":
        return renew(world, task.payload);
      case "rescue":
        return rescue(world, readRescue(task), own);
    }
  });
  if (result.kind !== "rescue") return null;
  const { until } = result;
  if (until === null) return { route: "done", seconds: 1 };
  return { route: "wait", seconds: Math.max(1, Math.ceil((until - world.clock.now()) / 1_000)) };
}
