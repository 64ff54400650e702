/**
 * The worker that `cairn chaos` starts and kills. It records every call, and pauses at the moment chosen for its task.
 * Whatever agent it loads, a tool that acts outside is replaced by a fake, unless the trial says otherwise.
 */
import { Fakes } from "./fakes.ts";
import { agentStandingIn } from "./stand-ins.ts";
import { chaosIn } from "../sdk/chaos-file.ts";
import { protectIntrinsics } from "../sdk/protect-intrinsics.ts";
import { registerResolution } from "../sdk/resolution.ts";
import { leaveOutCallbacks } from "../sdk/tool-loop/callbacks.ts";
import { readPlan, rigFor } from "./rig.ts";
import type { FaultInjection } from "../ports/fault-point.ts";
import { worldWithFaultPoints } from "../testing/fault-points.ts";
import type { WorkerSettings } from "../compose/supervise.ts";
import { startWorker } from "../compose/workers/start-worker.ts";

export interface ChaosWorkerSettings extends WorkerSettings {
  /** The directory of the plan, and of the marks and traces that the worker writes. */
  readonly chaos: string;
  /** The agent of the tasks. Its file says what stands in for services. */
  readonly agent: string;
  /** The tools that act for real. */
  readonly real: readonly string[];
}

const settings = JSON.parse(process.argv[2] ?? "") as ChaosWorkerSettings;

// Before the agent's file is loaded, as in every worker.
protectIntrinsics();
registerResolution();
leaveOutCallbacks();
const [file = ""] = settings.agentFiles;
const standIns = (await chaosIn(file))?.standIns ?? {};

const inject: FaultInjection = ({ runInHand }) => {
  const plan = readPlan(settings.chaos);
  const taskInHand = (): number | null => plan.taskOf[runInHand()] ?? null;
  const rig = rigFor({ dir: settings.chaos, plan, taskInHand });
  const trial = { root: settings.agent, standIns, real: settings.real, fakes: new Fakes(settings.dir), taskInHand };
  return {
    world: (world) => worldWithFaultPoints(world, rig.onMoment),
    agent: ({ agent, model, fallbacks, named }) => ({
      agent: rig.agent(agentStandingIn(agent, trial)),
      model: rig.model(model),
      fallbacks: fallbacks.map(rig.model),
      named: Object.fromEntries(Object.entries(named).map(([name, each]) => [name, rig.model(each)])),
    }),
  };
};

startWorker({ settings, env: process.env, inject });
