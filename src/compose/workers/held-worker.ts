/**
 * The worker that tests and the demo start with `CAIRN_HOLD`. It pauses at the fault points that `CAIRN_HOLD` names.
 */
import type { FaultInjection } from "../../ports/fault-point.ts";
import { agentWithFaultPoints, worldWithFaultPoints } from "../../testing/fault-points.ts";
import type { WorkerSettings } from "../supervise.ts";
import { holdAt, holdsIn } from "../../testing/pause-at-fault-point.ts";
import { startWorker } from "./start-worker.ts";

const settings = JSON.parse(process.argv[2] ?? "") as WorkerSettings;
const holds = holdsIn(process.env["CAIRN_HOLD"]);

const inject: FaultInjection = ({ runInHand }) => {
  const onFaultPoint = holdAt({ holds, dir: settings.dir, runInHand });
  return {
    world: (world) => worldWithFaultPoints(world, onFaultPoint),
    agent: ({ agent, ...models }) => ({ agent: agentWithFaultPoints(agent, onFaultPoint), ...models }),
  };
};

startWorker({ settings, env: process.env, inject });
