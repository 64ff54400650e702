/** Runs a measurement against a deployment without agents on LocalStack, and stops LocalStack if it started it. */
import { installPlatform } from "../infra/platform.ts";
import { deploy } from "../localstack/deploy.ts";
import { environmentOf } from "../localstack/environment.ts";
import { down, up } from "../localstack/up.ts";

export type Deployed = Awaited<ReturnType<typeof deploy>>;

/** `work` finds the settings of the deployment in the environment of this process. */
export async function onLocalStack(stage: string, work: (deployment: Deployed) => Promise<void>): Promise<void> {
  const say = (line: string): void => console.error(line);
  const [, { url, wasUp }] = await Promise.all([installPlatform(say), up(process.env, say)]);
  try {
    const deployment = await deploy({ url, stage, config: { agents: [] } });
    Object.assign(process.env, environmentOf({ url, deployment }));
    await work(deployment);
  } finally {
    if (!wasUp) await down(process.env);
  }
}
