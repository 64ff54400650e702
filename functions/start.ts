/**
 * Fires the schedule of an agent: the target of EventBridge Scheduler, which may deliver a firing more than once, late, and
 * beside another one. What throws is tried twice more, and then a dead letter.
 */
import { scheduledTime } from "../src/sdk/schedule/schedule.ts";
import { awsWorld } from "../src/adapters/aws/world.ts";
import type { FiringOutcome } from "../src/protocol/firing.ts";
import { fireInTime } from "../src/maintenance/firing.ts";
import { definedAgent } from "./defined-agent.ts";
import { type LambdaContext, invocation } from "./invocation.ts";
import { sealKeysOf } from "./seal-keys.ts";
import { secretsOf } from "./secrets.ts";
import { settingsOf } from "./settings.ts";

const world = awsWorld({ ...settingsOf("start"), secrets: secretsOf(), sealKeys: sealKeysOf() });

/** What a schedule's target says; the input of the run is the agent's own. */
interface Firing {
  readonly agent: string;
  readonly tenant: string;
  /** `<aws.scheduler.scheduled-time>`, in whose place the scheduler puts the time. */
  readonly scheduledTime: string;
}

export async function handler(firing: Firing, context: LambdaContext): Promise<FiringOutcome> {
  const { agent: name, tenant } = firing;
  const agent = await definedAgent(name);
  if (agent === null) throw new Error(`this deployment has no agent named ${name}`);
  const at = scheduledTime(firing.scheduledTime);
  const { outcome } = await invocation({ world, context }, (own) =>
    fireInTime(world, own, { agent, tenant, at, watched: true }),
  );
  return outcome;
}
