/**
 * The schedules of a deployment, as EventBridge Scheduler takes them. They stand in agents' code, so whoever deploys asks a
 * process of its own (`node scripts/plan.ts`) instead of importing that into the deployment.
 */
import { loadAgentFile } from "../src/sdk/load.ts";
import { LATE_MS } from "../src/protocol/firing.ts";

export interface DeployedSchedule {
  readonly agent: string;
  /** `ScheduleExpression` and `ScheduleExpressionTimezone`. */
  readonly expression: string;
  readonly timezone: string;
  /** `RetryPolicy.MaximumEventAgeInSeconds`: how late a firing is still worth being delivered. */
  readonly maximumEventAgeSec: number;
  /** What the target, the function `start`, is sent; the scheduler puts the time in its place. */
  readonly event: { readonly agent: string; readonly tenant: string; readonly scheduledTime: string };
}

const DAY_SEC = 24 * 3_600;

/** `agentFiles`: absolute paths, those of cairn.config.ts; `tenant`: whose runs they become. */
export async function schedulesOf(of: {
  readonly agentFiles: readonly string[];
  readonly tenant: string;
}): Promise<readonly DeployedSchedule[]> {
  const found: DeployedSchedule[] = [];
  for (const file of of.agentFiles) {
    for (const { name, schedule } of await loadAgentFile(file)) {
      if (!schedule) continue;
      const { every, timezone, missed } = schedule;
      found.push({
        ...{ agent: name, expression: every, timezone },
        maximumEventAgeSec: missed === "latest" ? DAY_SEC : LATE_MS / 1_000,
        event: { agent: name, tenant: of.tenant, scheduledTime: "<aws.scheduler.scheduled-time>" },
      });
    }
  }
  return found;
}
