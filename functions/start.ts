/**
 * The function that fires the schedule of an agent. EventBridge Scheduler invokes it, and may deliver a firing more
 * than once, late, and beside another one. If it throws, the scheduler retries twice, and then the firing becomes a
 * dead letter.
 */
import { withKernel } from "../src/features/compose.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import type { FiringOutcome } from "../src/protocol/firing.ts";
import { fireInTime, scheduledTime } from "../src/features/schedules/fire.ts";
import { startRun } from "../src/operations/start.ts";
import { definedAgent } from "./defined-agent.ts";
import { type LambdaContext, invocation } from "./invocation.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { settingsOf } from "./settings.ts";

const world = withKernel(awsWorld({ ...settingsOf("start"), secrets: secretsOf(), sealKeys: sealKeysOf() }));

/** The input that a schedule's target defines. The agent itself defines the input of the run. */
interface Firing {
  readonly agent: string;
  readonly tenant: string;
  /** The time, which the scheduler puts in place of `<aws.scheduler.scheduled-time>`. */
  readonly scheduledTime: string;
}

export async function handler(firing: Firing, context: LambdaContext): Promise<FiringOutcome> {
  const { agent: name, tenant } = firing;
  const agent = await definedAgent(name);
  if (agent === null) throw new Error(`this deployment has no agent named ${name}`);
  const at = scheduledTime(firing.scheduledTime);
  const { outcome } = await invocation({ world, context }, (own) =>
    fireInTime(world, own, { agent, tenant, at, watched: true, startRun }),
  );
  return outcome;
}
