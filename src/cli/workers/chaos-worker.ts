/**
 * The worker that `cairn chaos` starts and kills. It records every call, and pauses at the moment chosen for its task.
 */
import { readPlan, rigFor } from "../../chaos/rig.ts";
import type { FaultInjection } from "../../ports/fault-point.ts";
import { worldWithFaultPoints } from "../../testing/fault-points.ts";
import type { WorkerSettings } from "../supervise.ts";
import { startWorker } from "./start-worker.ts";

export interface ChaosWorkerSettings extends WorkerSettings {
  /** The directory of the plan, and of the marks and traces that the worker writes. */
  readonly chaos: string;
}

const settings = JSON.parse(process.argv[2] ?? "") as ChaosWorkerSettings;

const inject: FaultInjection = ({ runInHand }) => {
  const plan = readPlan(settings.chaos);
  const rig = rigFor({ dir: settings.chaos, plan, taskInHand: () => plan.taskOf[runInHand()] ?? null });
  return {
    world: (world) => worldWithFaultPoints(world, rig.onMoment),
    agent: ({ agent, model, fallbacks, named }) => ({
      ...{ agent: rig.agent(agent), model: rig.model(model), fallbacks: fallbacks.map(rig.model) },
      named: Object.fromEntries(Object.entries(named).map(([name, each]) => [name, rig.model(each)])),
    }),
  };
};

startWorker({ settings, env: process.env, inject });
